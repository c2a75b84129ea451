//go:build unix

package load

import "syscall"

// OpenFiles is how many files the process may open. Go raises the limit to the
// hard one when the process starts.
func OpenFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return manyFiles
	}
	return int(min(uint64(l.Cur), manyFiles)) //nolint:unconvert // it is signed on some systems
}
