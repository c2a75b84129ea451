//go:build !linux

package servertest

import "syscall"

// dieWithParent: only Linux has it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// awaitStop: elsewhere there is no telling, and a thread may still answer for a moment.
func awaitStop(int) error { return nil }
