package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// appendUntilKilled is the process that TestKilled kills: it adds rows from
// several goroutines, and prints the ID of each row that Append took.
func appendUntilKilled(dir string) {
	l, err := Open(context.Background(), Options{Directory: dir, Postgres: os.Getenv("STORE_TEST_POSTGRES"), Spool: leastSpool})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var out sync.Mutex
	for g := range 4 {
		go func() {
			for i := g; ; i += 4 {
				r := row(i)
				r.ID = os.Getenv("STORE_TEST_ROUND") + "-" + strconv.Itoa(i)
				if l.Append(r) != nil {
					continue // the bound is reached: nothing was promised
				}
				out.Lock()
				fmt.Println(r.ID)
				out.Unlock()
			}
		}()
	}
	select {}
}

// A gateway is killed in the middle of its work, over and over: while rows are
// added, written, and segments removed. Each row that was taken is there once.
func TestKilled(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		promised := map[string]bool{}
		for round, lines := range []int{1, 50, 700, 3000, 8000, 2} {
			cmd := exec.CommandContext(in(t), os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_APPENDER="+o.Directory, "STORE_TEST_POSTGRES="+o.Postgres, "STORE_TEST_ROUND="+strconv.Itoa(round))
			cmd.Stderr = os.Stderr
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(pipe)
			for n := 0; ; n++ {
				if n == lines {
					cmd.Process.Kill()
				}
				id, err := r.ReadString('\n')
				if err != nil {
					break // a line that was cut off is no promise
				}
				promised[strings.TrimSpace(id)] = true
			}
			cmd.Wait()
		}
		l := open(t, o)
		flush(t, l)
		seen := map[string]int{}
		for _, id := range stored(t, l) {
			seen[id]++
		}
		if len(promised) < 10_000 {
			t.Fatalf("only %d rows were promised", len(promised))
		}
		for id := range promised {
			if seen[id] != 1 {
				t.Errorf("row %s is there %d times", id, seen[id])
			}
		}
		t.Logf("%d rows were promised, %d are there", len(promised), len(seen))
	})
}
