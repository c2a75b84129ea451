package network

import (
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile returns an empty file that exists in memory only.
func memoryFile(string) (*os.File, error) {
	fd, err := unix.MemfdCreate("scalebench-object", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "scalebench-object"), nil
}
