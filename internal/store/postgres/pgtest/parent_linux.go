package pgtest

import "syscall"

// dieWithParent has the kernel shut the server down when its parent dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
