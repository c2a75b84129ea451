package spark

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forget has the page cache forget a file that is on the disk, so that it is read from
// there. It returns how many bytes are still in memory: all of a file on a tmpfs.
func forget(file string) (left int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return 0, err
	}
	return resident(f)
}

// resident is how many bytes of a file are in memory.
func resident(f *os.File) (bytes int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	page := os.Getpagesize()
	pages := make([]byte, (len(mapped)+page-1)/page)
	//nolint:gosec // mincore(2) has no wrapper; both outlive the call
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)),
		uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		err = errno
	}
	for _, p := range pages {
		bytes += int64(p&1) * int64(page)
	}
	// The last page is longer than what the file has of it.
	return min(bytes, info.Size()), errors.Join(err, unix.Munmap(mapped))
}
