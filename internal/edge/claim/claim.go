// Package claim takes a directory for one process, so that two gateways do not
// write over each other.
package claim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrTaken is wrapped in the error of Take while another process has the directory.
var ErrTaken = errors.New("another process uses it")

// Claim is a directory that belongs to this process.
type Claim struct{ file *os.File }

// Take takes a directory that is there, by a lock on a file in it, which is made.
// It lasts until Release, or until the process ends in whatever way. Where the
// system has no such locks, everybody gets it.
func Take(dir, name string) (*Claim, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return &Claim{f}, nil
}

// Release gives the directory up. The file stays: whoever removes it could take
// the place of somebody who has just locked it.
func (c *Claim) Release() error { return c.file.Close() }
