package child

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

func TestChildAnnouncesAndStops(t *testing.T) {
	var kept bytes.Buffer
	c, groups, err := Start(t.Context(), "shell", []string{"/bin/sh", "-c", "echo hello; echo at 127.0.0.1:9; exec sleep 60"}, regexp.MustCompile(`at (\S+)`), &kept)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 1 || groups[0] != "127.0.0.1:9" {
		t.Errorf("it announced %q", groups)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(kept.String(), "hello\n") {
		t.Errorf("kept %q", &kept)
	}
}

func TestChildThatEndsAtOnce(t *testing.T) {
	_, _, err := Start(t.Context(), "shell", []string{"/bin/sh", "-c", "echo no such file >&2; exit 3"}, regexp.MustCompile(`never`), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "no such file") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v does not tell why", err)
	}
}

func TestChildEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _, err := Start(ctx, "shell", []string{"/bin/sh", "-c", "exec sleep 60"}, nil, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-c.ended
	if c.err == nil {
		t.Error("a killed process ended well")
	}
}
