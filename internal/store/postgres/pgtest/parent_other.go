//go:build !linux

package pgtest

import "syscall"

// dieWithParent: only Linux has it.
func dieWithParent(*syscall.SysProcAttr) {}
