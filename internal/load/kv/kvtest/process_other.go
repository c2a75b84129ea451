//go:build !linux

package kvtest

import "syscall"

// dieWithParent: only Linux has it.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitStop: elsewhere a thread may still answer for a moment.
func awaitStop(int) error { return nil }
