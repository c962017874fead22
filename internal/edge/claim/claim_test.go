package claim

import (
	"errors"
	"runtime"
	"testing"
)

func TestOneAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has no flock")
	}
	dir := t.TempDir()
	first, err := Take(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(dir, "lock"); !errors.Is(err, ErrTaken) {
		t.Errorf("%v: it is taken", err)
	}
	if other, err := Take(dir, "other"); err != nil || other.Release() != nil {
		t.Errorf("%v: another lock of the same directory is free", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Take(dir, "lock")
	if err != nil {
		t.Fatalf("%v: it was released", err)
	}
	second.Release()
	if _, err := Take(dir+"/none", "lock"); err == nil || errors.Is(err, ErrTaken) {
		t.Errorf("%v: there is no such directory", err)
	}
}
