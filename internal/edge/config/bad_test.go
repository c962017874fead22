package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testEnv is the environment of the files under testdata.
func testEnv(name string) (string, bool) {
	v, ok := map[string]string{
		"HOSTED_API_KEY": "sk-from-env",
		"SECRET":         "s3cr3t",
		"LISTEN":         "127.0.0.1:8080",
		"BASE":           "http://127.0.0.1:8000",
		"N":              "4",
		"DRAIN":          "10s",
		"EMPTY":          "",
		"LINES":          "s3cr3t\nx-injected: 1",
	}[name]
	return v, ok
}

// Each file under testdata/bad has a file of the exact message beside it.
// Read a message as an operator before rewriting it with -update.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse("spillway.yaml", data, testEnv)
			if err == nil {
				t.Fatal("accepted")
			}
			if c != nil {
				t.Error("a configuration beside the error")
			}
			var p Problems
			if !errors.As(err, &p) {
				t.Errorf("%T is not Problems", err)
			}
			for _, secret := range []string{"s3cr3t", "sk-plain", "sk-in-the-url", "sk-from-env", "injected"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q is in the message: %v", secret, err)
				}
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".err"
			if *update {
				if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err2 := os.ReadFile(golden)
			if err2 != nil {
				t.Fatal(err2)
			}
			if got := err.Error() + "\n"; got != string(want) {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}
