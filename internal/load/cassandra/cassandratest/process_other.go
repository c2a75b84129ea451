//go:build !linux

package cassandratest

import "syscall"

// dieWithParent: only Linux has it.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitStopped: elsewhere nobody tells; the signal will have arrived soon.
func awaitStopped(int) error { return nil }
