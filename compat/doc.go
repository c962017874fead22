// Package compat tests the gateway with the clients that people use against
// it. The official Go client is driven from here, those of npm from the folder
// node. It is a module of its own, so that the gateway depends on none of them.
package compat
