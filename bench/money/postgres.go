package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spillway-llm/spillway/bench/child"
)

// postgres is a real server on a socket of its own. It listens on no port.
type postgres struct {
	dir    string
	bin    string
	as     []string // what a command begins with: the server refuses to be root
	server *child.Child
}

var errNoPostgres = errors.New("PostgreSQL is not installed: run scripts/postgresql")

func newPostgres(ctx context.Context) (*postgres, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has them
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return nil, errNoPostgres
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	p := &postgres{dir: dir, bin: filepath.Dir(found[len(found)-1])}
	if err := p.init(ctx); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *postgres) init(ctx context.Context) error {
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(u.Uid)
		if err := os.Chown(p.dir, uid, -1); err != nil {
			return err
		}
		p.as = []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups"}
	}
	argv := p.command("initdb", "-D", filepath.Join(p.dir, "data"), "-U", "spillway", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return p.start(ctx)
}

func (p *postgres) command(name string, args ...string) []string {
	return append(append(append([]string{}, p.as...), filepath.Join(p.bin, name)), args...)
}

var postgresReady = regexp.MustCompile("ready to accept connections")

// start gives back when connections are taken.
func (p *postgres) start(ctx context.Context) (err error) {
	p.server, _, err = child.Start(ctx, "PostgreSQL", p.command("postgres", "-D", filepath.Join(p.dir, "data"), "-k", p.dir, "-c", "listen_addresses="), postgresReady, io.Discard)
	return err
}

// stop ends the server as an administrator would who does not wait for clients.
func (p *postgres) stop() {
	if p.server != nil {
		p.server.Interrupt()
		p.server = nil
	}
}

func (p *postgres) remove() {
	p.stop()
	_ = os.RemoveAll(p.dir) // it is in the directory for such things
}

func (p *postgres) dsn() string {
	return fmt.Sprintf("host=%s user=spillway dbname=postgres", p.dir)
}
