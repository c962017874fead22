package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set at build time (make build).
var version = "dev"

type versionCmd struct{}

func (versionCmd) Run() error {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v = info.Main.Version
	}
	fmt.Printf("spillway %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
