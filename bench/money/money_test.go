package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// binary builds the gateway once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "spillway")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/spillway").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

var built string

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "spillway-bench-money-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// try runs a short version of an experiment. Its figures are of no worth.
func try(t *testing.T, e experiment) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	err = measure(t.Context(), path, e, t.Output())
	if errors.Is(err, errNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
}

// Whoever had an answer to its end is in the ledger once, with what it cost,
// however often the gateway is killed; and budgets go on where they were.
func TestKilledUnderLoad(t *testing.T) {
	try(t, killed{Rounds: 3, Every: 1500 * time.Millisecond, Rate: 1000})
}

// Nothing is lost or doubled while the database is away.
func TestDatabaseAway(t *testing.T) {
	try(t, outage{Downs: []time.Duration{4 * time.Second}, Up: time.Second, Rate: 300})
}

// Many callers at once cannot spend more than a budget, and can spend all of it.
func TestCrowdBeforeABudget(t *testing.T) { try(t, crowd{Callers: 200, Budget: 1e6}) }

// A loop that runs away is told of, and then slowed, long before the day's
// money is gone.
func TestRunawayLoop(t *testing.T) {
	try(t, runaway{Loops: 10, Budget: 5e6, Most: 15 * time.Second, Watch: time.Second})
}

// A report beside the gateway disturbs no request.
func TestReportsBesideTheGateway(t *testing.T) {
	try(t, reading{Rows: 2000, Cycles: 1, Phase: time.Second, Rate: 200})
}
