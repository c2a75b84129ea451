//go:build !linux

package servers

import "syscall"

// dieWithParent: only Linux has it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// awaitStop: only Linux can tell; elsewhere a thread may still answer for a moment.
func awaitStop(int) error { return nil }
