package tiers

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/kernel"
)

// threads reads the states and switches of a service's threads one by one: there
// is no sum of them. Each takes two small files, which are opened and closed
// without more, for a service may have thousands.
type threads struct {
	*bound

	list  func([]int) ([]int, error)
	proc  int // directory
	ids   []int
	buf   []byte
	begun bool
	turn  int
	seen  map[int]thread
	sum   switches // of all, since the first reading
}

// thread is one as it was at its last reading.
type thread struct {
	switches
	turn int
}

// switches are counters of a thread.
type switches struct {
	voluntary, involuntary uint64
	delay                  uint64 // ns
}

func (t *threads) open() (err error) {
	t.buf, t.seen = make([]byte, 4096), map[int]thread{}
	t.proc, err = unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

func (t *threads) close() { _ = unix.Close(t.proc) } // nothing was written

func (t *threads) read(out func(string, float64)) error {
	return t.do(func() error { return t.all(out) })
}

// all reads every thread. One that is new has switched since the reading before;
// what one did between its last reading and its end is missing.
func (t *threads) all(out func(string, float64)) (err error) {
	if t.ids, err = t.list(t.ids[:0]); err != nil {
		return err
	}
	t.turn++
	running, count, delays := 0, 0, true
	for _, id := range t.ids {
		now, runs, delay, err := t.one(id)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return err
		}
		if count++; runs {
			running++
		}
		delays = delays && delay
		t.count(id, now)
	}
	t.begun = true
	for id, last := range t.seen {
		if last.turn != t.turn {
			delete(t.seen, id)
		}
	}
	out("threads", float64(count))
	out("runnable", float64(running))
	out("switches_voluntary", float64(t.sum.voluntary))
	out("switches_involuntary", float64(t.sum.involuntary))
	if delays {
		out("run_delay", float64(t.sum.delay)/1e9)
	}
	return nil
}

// count adds what a thread did since its last reading. An id that counts less
// than before is that of another thread.
func (t *threads) count(id int, now switches) {
	last, known := t.seen[id]
	if known && (now.voluntary < last.voluntary || now.involuntary < last.involuntary || now.delay < last.delay) {
		last.switches = switches{}
	}
	if known || t.begun {
		t.sum.voluntary += now.voluntary - last.voluntary
		t.sum.involuntary += now.involuntary - last.involuntary
		t.sum.delay += now.delay - last.delay
	}
	t.seen[id] = thread{now, t.turn}
}

// one reads a thread; delay: the kernel tells that.
func (t *threads) one(id int) (s switches, runs, delay bool, err error) {
	dir := strconv.Itoa(id)
	text, err := t.text(dir + "/status")
	if err != nil {
		return s, false, false, err
	}
	s, runs = parseStatus(text)
	if text, err = t.text(dir + "/schedstat"); err != nil {
		return s, runs, false, nil //nolint:nilerr // some kernels do not have it
	}
	var numbers [2]uint64
	delay = kernel.Uints(text, numbers[:]) == 2
	s.delay = numbers[1]
	return s, runs, delay, nil
}

// text reads a file of /proc that fits into the buffer.
func (t *threads) text(name string) ([]byte, error) {
	fd, err := unix.Openat(t.proc, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(fd, t.buf)
	_ = unix.Close(fd) // nothing was written
	return t.buf[:max(n, 0)], err
}

// parseStatus reads /proc/TID/status. The name of the program, in the first line,
// cannot look like another line: its line ends are escaped.
func parseStatus(text []byte) (s switches, runs bool) {
	s.voluntary, _ = kernel.ParseUint(behind(text, "\nvoluntary_ctxt_switches:\t"))
	s.involuntary, _ = kernel.ParseUint(behind(text, "\nnonvoluntary_ctxt_switches:\t"))
	return s, bytes.HasPrefix(behind(text, "\nState:\t"), []byte("R"))
}

// behind is the rest of the line that begins with a key.
func behind(text []byte, key string) []byte {
	_, rest, _ := bytes.Cut(text, []byte(key))
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	return line
}
