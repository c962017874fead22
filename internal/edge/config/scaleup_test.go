package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestScaleUp(t *testing.T) {
	const base = "providers: {a: {base_url: http://h/v1}}\n"
	if got := parse(t, base).ScaleUp; got.Webhook != "" {
		t.Errorf("somebody is told without being named: %+v", got)
	}
	got := parse(t, base+"scale_up: {webhook: 'https://hooks.example.com/t?token=${SECRET}', every: 10s}").ScaleUp
	if got.Webhook != "https://hooks.example.com/t?token=s3cr3t" || got.Every != 10*time.Second {
		t.Errorf("%q %v", string(got.Webhook), got.Every)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
}
