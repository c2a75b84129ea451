package load

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/scalebench/scalebench/internal/model"
)

// Lack returns what this machine lacks where that is why a connection could not
// be opened, as model.ErrUnavailable with what to do; nil where the other side is
// why. worked says that connections to it were made before: then that no local
// address is available means that all local ports are taken.
//
// Where several addresses were tried, the machine lacks something if that is why
// with each of them.
func Lack(err error, worked bool) error {
	if several, ok := errors.AsType[*unconnected](err); ok &&
		slices.ContainsFunc(several.causes, func(c error) bool { return Lack(c, worked) == nil }) {
		return nil
	}
	var advice string
	switch {
	case errors.Is(err, syscall.EMFILE):
		advice = "this process may open too few files; raise the hard limit (ulimit -Hn), or allow fewer connections " +
			"(--connections)"
	case errors.Is(err, syscall.ENFILE):
		advice = "this machine may open too few files; raise fs.file-max, or allow fewer connections (--connections)"
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC):
		advice = "the kernel has no memory for it; allow fewer connections (--connections)"
	case errors.Is(err, syscall.EADDRNOTAVAIL) && worked:
		advice = "all local ports are taken, by connections that are open or were closed within a minute; " +
			"widen net.ipv4.ip_local_port_range, let the server keep connections open, or lower the rate"
	default:
		return nil
	}
	return fmt.Errorf("%w: the generator could not open a connection: %w; %s", model.ErrUnavailable, err, advice)
}

// otherFiles of the process are open beside connections: those of a store, of
// queues and logs, and handshakes beside the load.
const otherFiles = 64

// manyFiles is a limit that nobody reaches.
const manyFiles = 1 << 30

// Connections bounds how many connections to each of so many origins may be open,
// where each process has overhead more files for them.
//
// asked is how many were asked for. If they are a limit that nobody chose, fewer
// are allowed where the process may open fewer files, and short says so: who needs
// more has to end, for what waits would wait for the generator. The error is
// model.ErrUnavailable.
func Connections(asked, origins, overhead int, chosen bool) (allowed int, short bool, err error) {
	limit := OpenFiles()
	room := (int64(limit) - otherFiles - int64(overhead)) / int64(max(origins, 1))
	if int64(asked) <= room {
		return asked, false, nil
	}
	if room >= 1 && !chosen {
		return int(room), true, nil
	}
	advice := "raise the hard limit (ulimit -Hn)"
	if room >= 1 {
		advice += fmt.Sprintf(", or allow at most %d connections (--connections %d)", room, room)
	}
	return 0, false, fmt.Errorf("%w: %d connections to each of %d origins need up to %d open files, "+
		"but this process may open only %d; %s",
		model.ErrUnavailable, asked, origins, int64(asked)*int64(origins)+otherFiles+int64(overhead), limit, advice)
}

// ErrFiles is that a generator needs another connection, and may not open the
// file for it.
func ErrFiles(allowed int) error {
	limit := OpenFiles()
	return fmt.Errorf("%w: the generator needs more than %d connections, and this process may open only %d files; "+
		"raise the hard limit (ulimit -Hn), or let operations wait for %d connections (--connections %d)",
		model.ErrUnavailable, allowed, limit, allowed, allowed)
}
