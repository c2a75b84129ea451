package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
)

// Meter reads processor time and limits of a group again and again.
type Meter struct {
	buf    *kernel.Buffer
	usage  *kernel.File // version 1: cpuacct.usage; nil: cpu.stat has it
	levels []*level     // the group's own first, then those above it
}

// level is a group that may have a limit.
type level struct {
	stat  *kernel.File // cpu.stat
	quota *kernel.File // cpu.max, or with version 1 cpu.cfs_quota_us
	// period is cpu.cfs_period_us; nil with version 2.
	period *kernel.File
	used   float64 // processor time in s by cpu.stat; -1 with version 1, which has it elsewhere
	last   Throttling
	seen   bool
}

// Throttling is what a limit did: in how many periods it was in force, in how many of them
// it held the group back, and for how long.
type Throttling struct{ Periods, Throttled, Seconds float64 }

// Add adds what it did at another time.
func (t *Throttling) Add(x Throttling) {
	t.Periods, t.Throttled, t.Seconds = t.Periods+x.Periods, t.Throttled+x.Throttled, t.Seconds+x.Seconds
}

// ErrTop is why the top of a hierarchy has no meter: it has no limit.
var ErrTop = errors.New("are no control groups below the root")

// OpenMeter opens the files of the group with these folders, and of those above it.
func OpenMeter(dirs []string) (m *Meter, err error) {
	m = &Meter{buf: kernel.NewBuffer()}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if dir := holding(dirs, "cpuacct.usage"); dir != "" {
		if m.usage, err = kernel.Open(filepath.Join(dir, "cpuacct.usage"), m.buf, nil); err != nil {
			return m, err
		}
	}
	dir := holding(dirs, "cpu.stat")
	if dir == "" {
		return m, fmt.Errorf("no cpu.stat in %q: the control group is gone, or has no controller for processors", dirs)
	}
	for ; exists(dir, "cpu.cfs_quota_us") || exists(dir, "cgroup.events"); dir = filepath.Dir(dir) {
		if err := m.open(dir); err != nil {
			return m, err
		}
	}
	if len(m.levels) == 0 {
		return m, fmt.Errorf("%q %w of their hierarchy", dirs, ErrTop)
	}
	return m, nil
}

// holding is the first of the folders that holds a file; "" for none.
func holding(dirs []string, file string) string {
	if i := slices.IndexFunc(dirs, func(d string) bool { return exists(d, file) }); i >= 0 {
		return dirs[i]
	}
	return ""
}

// open adds a level. One of version 2 without the controller has no limit, and is
// there only if it is the group's own.
func (m *Meter) open(dir string) error {
	l := &level{}
	m.levels = append(m.levels, l)
	quota, period := "cpu.max", ""
	if exists(dir, "cpu.cfs_quota_us") {
		quota, period = "cpu.cfs_quota_us", "cpu.cfs_period_us"
	}
	for _, f := range []struct {
		name string
		into **kernel.File
	}{{"cpu.stat", &l.stat}, {quota, &l.quota}, {period, &l.period}} {
		if f.name == "" {
			continue
		}
		file, err := kernel.Open(filepath.Join(dir, f.name), m.buf, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		*f.into = file
	}
	return nil
}

// Close closes the files.
func (m *Meter) Close() {
	files := []*kernel.File{m.usage}
	for _, l := range m.levels {
		files = append(files, l.stat, l.quota, l.period)
	}
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Limit is the tightest limit of the moment in cores, 0 for none, and what it did since
// the last reading. It may be that of a group above.
func (m *Meter) Limit() (cores float64, did Throttling, err error) {
	for _, l := range m.levels {
		own, gained, err := l.read()
		if err != nil {
			return 0, Throttling{}, err
		}
		if own > 0 && (cores == 0 || own < cores) {
			cores, did = own, gained
		}
	}
	return cores, did, nil
}

// Used is the processor time of the group in seconds, as of the last [Meter.Limit].
func (m *Meter) Used() (seconds float64, err error) {
	switch own := m.levels[0].used; {
	case m.usage != nil:
		ns, err := number(m.usage)
		return float64(ns) / 1e9, err
	case own < 0:
		return 0, errors.New("no cpuacct.usage: the control group of the controller cpuacct is not known")
	default:
		return own, nil
	}
}

// read returns the limit in cores, 0 for none, and what happened since the last
// reading.
func (l *level) read() (cores float64, gained Throttling, err error) {
	if cores, err = l.cores(); err != nil || l.stat == nil {
		return cores, gained, err
	}
	text, err := l.stat.Text()
	if err != nil {
		return 0, gained, err
	}
	used, now := parseStat(text)
	if l.seen {
		gained = Throttling{now.Periods - l.last.Periods, now.Throttled - l.last.Throttled, now.Seconds - l.last.Seconds}
	}
	l.used, l.last, l.seen = used, now, true
	return cores, gained, nil
}

// parseStat reads cpu.stat: version 2 counts in µs, version 1 in ns.
func parseStat(text []byte) (used float64, t Throttling) {
	used = -1
	kernel.Pairs(text, func(key []byte, n uint64) {
		switch string(key) {
		case "usage_usec":
			used = float64(n) / 1e6
		case "nr_periods":
			t.Periods = float64(n)
		case "nr_throttled":
			t.Throttled = float64(n)
		case "throttled_usec":
			t.Seconds = float64(n) / 1e6
		case "throttled_time":
			t.Seconds = float64(n) / 1e9
		}
	})
	return used, t
}

// cores is the quota as a share of the period. What is no number ("max", -1) is
// no limit.
func (l *level) cores() (float64, error) {
	if l.quota == nil {
		return 0, nil
	}
	text, err := l.quota.Text()
	if err != nil {
		return 0, err
	}
	var numbers [2]uint64
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if len(text) > 0 && kernel.Uints(line, numbers[:]) == 0 {
		return 0, nil
	}
	if l.period != nil {
		if numbers[1], err = number(l.period); err != nil {
			return 0, err
		}
	}
	if numbers[1] == 0 {
		return 0, fmt.Errorf("%s: no quota and period in %q", l.quota.Name(), text)
	}
	return float64(numbers[0]) / float64(numbers[1]), nil
}

// number reads a file that is one number.
func number(f *kernel.File) (uint64, error) {
	text, err := f.Text()
	if err != nil {
		return 0, err
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if n, _, ok := kernel.Uint(line); ok {
		return n, nil
	}
	return 0, fmt.Errorf("%s: no number in %q", f.Name(), text)
}

// Threads lists the threads of a group and of those below it.
type Threads struct {
	dir    string
	name   string // cgroup.threads, or with version 1 tasks
	below  []string
	looked time.Time // for groups below
	buf    *kernel.Buffer
}

// OpenThreads finds the group with these folders.
func OpenThreads(dirs []string) (*Threads, error) {
	for _, name := range []string{"cgroup.threads", "tasks"} {
		if dir := holding(dirs, name); dir != "" {
			return &Threads{dir: dir, name: name, buf: kernel.NewBuffer()}, nil
		}
	}
	return nil, fmt.Errorf("no cgroup.threads or tasks in %q: the control group is gone", dirs)
}

// lookEvery is how often groups are looked for that are new.
const lookEvery = time.Second

// List appends the ids of the threads.
func (m *Threads) List(ids []int) ([]int, error) {
	if now := time.Now(); now.Sub(m.looked) >= lookEvery {
		m.looked, m.below = now, m.below[:0]
		err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				m.below = append(m.below, filepath.Join(path, m.name))
			}
			return nil // a group below that is gone has no threads
		})
		if err != nil {
			return ids, err
		}
	}
	for i, path := range m.below {
		f, err := kernel.Open(path, m.buf, nil)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return ids, err
		}
		text, err := f.Text()
		f.Close()
		if err != nil {
			return ids, err
		}
		for line := range kernel.Lines(text) {
			if id, err := strconv.Atoi(string(line)); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
