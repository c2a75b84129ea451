package tiers

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/kernel"
)

// threads reads the states and switches of a service's threads one by one: there
// is no sum of them. Each has two small files. They stay open, as far as this
// process may have so many, for opening takes as long as reading.
type threads struct {
	*bound

	list  func([]int) ([]int, error)
	proc  int // directory
	ids   []int
	buf   []byte
	begun bool
	turn  int
	seen  map[int]thread
	kept  int      // threads with open files
	most  int      // how many may have
	sum   switches // of all, since the first reading
}

// thread is one as it was at its last reading.
type thread struct {
	switches
	turn int
	open bool
	// status and schedstat are descriptors; of schedstat -1 where the kernel does
	// not have it.
	status, schedstat int
}

// switches are counters of a thread.
type switches struct {
	voluntary, involuntary uint64
	delay                  uint64 // ns
}

func (t *threads) open() (err error) {
	t.buf, t.seen = make([]byte, 4096), map[int]thread{}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	t.most = int(min(files.Cur/8, 10_000)) // two files each leave three quarters
	t.proc, err = unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

func (t *threads) Close() {
	for id, x := range t.seen {
		t.shut(&x)
		delete(t.seen, id)
	}
	_ = unix.Close(t.proc) // nothing was written
}

func (t *threads) Parse(out kernel.Emit) error {
	return t.do(func() error { return t.all(out) })
}

// all reads every thread. One that is new has switched since the reading before;
// what one did between its last reading and its end is missing.
func (t *threads) all(out kernel.Emit) (err error) {
	if t.ids, err = t.list(t.ids[:0]); err != nil {
		return err
	}
	t.turn++
	running, count, delays := 0, 0, true
	for _, id := range t.ids {
		x, known := t.seen[id]
		now, runs, err := t.one(id, &x, &known)
		if gone(err) {
			t.shut(&x)
			delete(t.seen, id)
			continue
		}
		if err != nil {
			return err
		}
		if count++; runs {
			running++
		}
		delays = delays && x.schedstat >= 0
		t.count(id, x, known, now)
	}
	t.begun = true
	for id, x := range t.seen { // those that were not there this time
		if x.turn != t.turn {
			t.shut(&x)
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

// gone reports whether a thread has ended.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// count adds what a thread did since its last reading. An id that counts less
// than before is that of another thread.
func (t *threads) count(id int, x thread, known bool, now switches) {
	last := x.switches
	if now.voluntary < last.voluntary || now.involuntary < last.involuntary || now.delay < last.delay {
		last = switches{}
	}
	if known || t.begun {
		t.sum.voluntary += now.voluntary - last.voluntary
		t.sum.involuntary += now.involuntary - last.involuntary
		t.sum.delay += now.delay - last.delay
	}
	x.switches, x.turn = now, t.turn
	t.seen[id] = x
}

// one reads a thread. Where the files that are open are of a thread that has ended,
// its id may be another's now, which is not known.
func (t *threads) one(id int, x *thread, known *bool) (now switches, runs bool, err error) {
	if x.open {
		if now, runs, err = t.both(x); !gone(err) {
			return now, runs, err
		}
		t.shut(x)
		*x, *known = thread{}, false
	}
	dir := strconv.Itoa(id)
	if x.status, err = unix.Openat(t.proc, dir+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return now, false, err
	}
	if x.schedstat, err = unix.Openat(t.proc, dir+"/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		x.schedstat = -1
	}
	x.open = true
	t.kept++
	now, runs, err = t.both(x)
	if t.kept > t.most {
		t.shut(x)
	}
	return now, runs, err
}

// shut closes a thread's files. Whether it had schedstat is kept.
func (t *threads) shut(x *thread) {
	if !x.open {
		return
	}
	_ = unix.Close(x.status) // nothing was written
	if x.schedstat >= 0 {
		_ = unix.Close(x.schedstat)
	}
	x.open = false
	t.kept--
}

// both reads both files of a thread.
func (t *threads) both(x *thread) (now switches, runs bool, err error) {
	n, err := unix.Pread(x.status, t.buf, 0)
	if err != nil {
		return now, false, err
	}
	now, runs = parseStatus(t.buf[:n])
	if x.schedstat < 0 {
		return now, runs, nil
	}
	if n, err = unix.Pread(x.schedstat, t.buf, 0); err != nil {
		return now, runs, err
	}
	var numbers [2]uint64 // time on a processor, and time ready, in ns
	kernel.Uints(t.buf[:n], numbers[:])
	now.delay = numbers[1]
	return now, runs, nil
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
