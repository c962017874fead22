//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package claim

import "os"

// flock does nothing where the system has no flock: there it is left to the
// operator that a directory has one process.
func flock(*os.File) error { return nil }
