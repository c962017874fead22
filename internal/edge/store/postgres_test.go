package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// postgres is a real server on a socket of its own, for all tests of this
// package. It listens on no port.
type postgres struct {
	dir       string
	bin       string
	as        *syscall.SysProcAttr // the server refuses to be root
	server    *exec.Cmd
	ended     chan struct{}
	databases atomic.Int64
}

var (
	thePostgres  *postgres
	postgresOnce sync.Once
	errPostgres  error
)

// postgresServer starts the server if it does not run yet.
func postgresServer(t testing.TB) *postgres {
	t.Helper()
	postgresOnce.Do(func() { thePostgres, errPostgres = newPostgres() })
	if errors.Is(errPostgres, errNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(errPostgres)
	}
	if errPostgres != nil {
		t.Fatal(errPostgres)
	}
	return thePostgres
}

var errNoPostgres = errors.New("PostgreSQL is not installed: apt-get install postgresql")

func newPostgres() (*postgres, error) {
	bin, err := postgresBinaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	p := &postgres{dir: dir, bin: bin}
	if os.Getuid() == 0 {
		if err := p.notRoot(); err != nil {
			return p, err
		}
	}
	if out, err := p.command("initdb", "-D", p.data(), "-U", "spillway", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8").CombinedOutput(); err != nil {
		return p, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return p, p.start()
}

// postgresBinaries looks where Debian has them, newest first, and in the path.
func postgresBinaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) + strings.Compare(b, a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", errNoPostgres
}

func (p *postgres) notRoot() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	p.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(p.dir, uid, gid)
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, p.as
	return cmd
}

// start gives back when connections are taken.
func (p *postgres) start() error {
	p.server = p.command("postgres", "-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off")
	log, err := p.server.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.server.Start(); err != nil {
		return err
	}
	started := make(chan struct{})
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		s := bufio.NewScanner(log)
		for s.Scan() {
			if strings.Contains(s.Text(), "ready to accept connections") {
				close(started)
			}
		}
		p.server.Wait()
	}()
	select {
	case <-started:
		return nil
	case <-p.ended:
		return errors.New("PostgreSQL ended before it was ready")
	case <-time.After(time.Minute):
		return errors.New("PostgreSQL was not ready within a minute")
	}
}

// stop ends the server as an administrator would who does not wait for clients.
func (p *postgres) stop() {
	if p.server == nil || p.server.Process == nil {
		return
	}
	p.server.Process.Signal(syscall.SIGINT)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.server.Process.Kill()
		<-p.ended
	}
}

// remove ends the server for good.
func (p *postgres) remove() {
	p.stop()
	os.RemoveAll(p.dir)
}

func (p *postgres) dsn(database string) string {
	return fmt.Sprintf("host=%s user=spillway password=s3cr3t dbname=%s", p.dir, database)
}

// database makes an empty one and gives its connection string.
func (p *postgres) database(t testing.TB) string {
	t.Helper()
	db, err := sql.Open("pgx", p.dsn("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprintf("d%d", p.databases.Add(1))
	if _, err := db.ExecContext(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return p.dsn(name)
}
