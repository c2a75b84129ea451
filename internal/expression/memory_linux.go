package expression

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitData lets the process have so many more bytes of data until restore is called. The
// runtime ends the process if it cannot have more.
func limitData(more uint64) (restore func()) {
	var was unix.Rlimit
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 6 || unix.Getrlimit(unix.RLIMIT_DATA, &was) != nil {
		return func() {}
	}
	pages, err := strconv.ParseUint(string(fields[5]), 10, 64) // of data and stack
	if err != nil {
		return func() {}
	}
	now := was
	now.Cur = min(was.Cur, pages*uint64(os.Getpagesize())+more)
	if unix.Setrlimit(unix.RLIMIT_DATA, &now) != nil {
		return func() {}
	}
	return func() { _ = unix.Setrlimit(unix.RLIMIT_DATA, &was) }
}
