//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package claim

import (
	"errors"
	"os"
	"syscall"
)

// flock takes a file for this process until it is closed, or the process ends
// in whatever way.
func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrTaken
	}
	return err
}
