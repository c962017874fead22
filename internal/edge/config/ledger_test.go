package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLedger(t *testing.T) {
	const base = "providers: {a: {base_url: http://h/v1}}\n"
	if got, want := parse(t, base).Ledger, (Ledger{Enabled: true, Directory: "spillway-data", Keep: 400 * 24 * time.Hour, Spool: 1 << 30}); got != want {
		t.Errorf("%+v", got)
	}
	got := parse(t, base+"ledger: {directory: /var/lib/spillway, postgres: 'postgres://u:${SECRET}@h/d', keep: 30d, spool: 2MiB}").Ledger
	if want := (Ledger{Enabled: true, Directory: "/var/lib/spillway", Postgres: "postgres://u:s3cr3t@h/d", Keep: 720 * time.Hour, Spool: 2 << 20}); got != want {
		t.Errorf("%+v", got)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
	if parse(t, base+"ledger: {enabled: false}").Ledger.Enabled {
		t.Error("it is kept though switched off")
	}
}
