package tiers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
)

// group reads processor time and limits of a control group, version 1 or 2.
type group struct {
	buf    *kernel.Buffer
	usage  *kernel.File // version 1: cpuacct.usage; nil: cpu.stat has it
	levels []*level     // the service's own first, then those above it
	limit  limit
	gained throttling
	any    bool // there is or was a limit
}

// limit is what the control groups do not show.
type limit struct {
	processors float64        // that the service may use
	given      func() float64 // cores, 0: none; may be nil
}

// cores is the tightest of the limits; own, 0 for none, is that of the control
// groups.
func (l limit) cores(own float64) float64 {
	cores := l.processors
	if own > 0 {
		cores = min(cores, own)
	}
	if l.given != nil {
		if g := l.given(); g > 0 {
			cores = min(cores, g)
		}
	}
	return cores
}

// level is a control group that may have a limit.
type level struct {
	stat  *kernel.File // cpu.stat
	quota *kernel.File // cpu.max, or with version 1 cpu.cfs_quota_us
	// period is cpu.cfs_period_us; nil with version 2.
	period *kernel.File
	last   throttling
	seen   bool
}

// throttling is what cpu.stat tells of a limit.
type throttling struct {
	used               float64 // processor time in s; -1 with version 1, which has it elsewhere
	periods, throttled float64
	seconds            float64
}

// errTop: what is at the top of a hierarchy has no limit.
var errTop = errors.New("are no control groups below the root")

// openGroup opens the files of a group, which the directories are of.
func openGroup(dirs []string, l limit) (*group, error) {
	g := &group{buf: kernel.NewBuffer(), limit: l}
	if dir := holding(dirs, "cpuacct.usage"); dir != "" {
		usage, err := kernel.Open(filepath.Join(dir, "cpuacct.usage"), g.buf, nil)
		if err != nil {
			return nil, err
		}
		g.usage = usage
	}
	dir := holding(dirs, "cpu.stat")
	if dir == "" {
		g.close()
		return nil, fmt.Errorf("no cpu.stat in %q: the control group is gone, or has no controller for processors", dirs)
	}
	for ; exists(dir, "cpu.cfs_quota_us") || exists(dir, "cgroup.events"); dir = filepath.Dir(dir) {
		if err := g.open(dir); err != nil {
			g.close()
			return nil, err
		}
	}
	if len(g.levels) == 0 {
		g.close()
		return nil, fmt.Errorf("%q %w of their hierarchy", dirs, errTop)
	}
	return g, nil
}

// holding is the first of the directories that holds a file; "" for none.
func holding(dirs []string, file string) string {
	if i := slices.IndexFunc(dirs, func(d string) bool { return exists(d, file) }); i >= 0 {
		return dirs[i]
	}
	return ""
}

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// open adds a level. One of version 2 without the controller has no limit, and is
// there only if it is the service's own.
func (g *group) open(dir string) error {
	l := &level{}
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
		file, err := kernel.Open(filepath.Join(dir, f.name), g.buf, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.close()
			return err
		}
		*f.into = file
	}
	g.levels = append(g.levels, l)
	return nil
}

func (g *group) close() {
	for _, l := range g.levels {
		l.close()
	}
	if g.usage != nil {
		g.usage.Close()
	}
}

func (l *level) close() {
	for _, f := range []*kernel.File{l.stat, l.quota, l.period} {
		if f != nil {
			f.Close()
		}
	}
}

// read emits the service's processor time, and what limits it.
func (g *group) read(out func(string, float64)) error {
	own, did, err := g.tightest()
	if err == nil {
		err = g.emitUsed(g.levels[0].last.used, out)
	}
	if err == nil {
		g.emitLimit(own, did, out)
	}
	return err
}

// readLimit emits what limits the processes of the group, and nothing of what they use.
func (g *group) readLimit(out func(string, float64)) error {
	own, did, err := g.tightest()
	if err == nil {
		g.emitLimit(own, did, out)
	}
	return err
}

// tightest is the tightest limit of the moment in cores, 0 for none, and what it did
// since the last reading.
func (g *group) tightest() (own float64, did throttling, err error) {
	for _, l := range g.levels {
		cores, gained, err := l.read()
		if err != nil {
			return 0, throttling{}, err
		}
		if cores > 0 && (own == 0 || cores < own) {
			own, did = cores, gained
		}
	}
	return own, did, nil
}

// emitLimit emits the tightest limit and what it did. It may be that of a group above,
// and may change; what is gained adds up over whichever it was.
func (g *group) emitLimit(own float64, did throttling, out func(string, float64)) {
	out("quota", g.limit.cores(own))
	if g.any = g.any || own > 0; g.any {
		g.gained.add(did)
		out("throttled", g.gained.seconds)
		out("periods", g.gained.periods)
		out("throttled_periods", g.gained.throttled)
	}
}

// emitUsed emits the service's processor time; own is what cpu.stat has.
func (g *group) emitUsed(own float64, out func(string, float64)) error {
	switch {
	case g.usage != nil:
		ns, err := number(g.usage)
		if err != nil {
			return err
		}
		own = float64(ns) / 1e9
	case own < 0:
		return errors.New("no cpuacct.usage: the control group of the controller cpuacct is not known")
	}
	out("cpu", own)
	return nil
}

func (t *throttling) add(x throttling) {
	t.seconds, t.periods, t.throttled = t.seconds+x.seconds, t.periods+x.periods, t.throttled+x.throttled
}

// read returns the limit in cores, 0 for none, and what happened since the last
// reading.
func (l *level) read() (cores float64, gained throttling, err error) {
	if cores, err = l.cores(); err != nil || l.stat == nil {
		return cores, gained, err
	}
	text, err := l.stat.Text()
	if err != nil {
		return 0, gained, err
	}
	now := parseThrottling(text)
	if l.seen {
		gained = throttling{
			periods: now.periods - l.last.periods, throttled: now.throttled - l.last.throttled, seconds: now.seconds - l.last.seconds,
		}
	}
	l.last, l.seen = now, true
	return cores, gained, nil
}

// parseThrottling reads cpu.stat: version 2 counts in µs, version 1 in ns.
func parseThrottling(text []byte) throttling {
	t := throttling{used: -1}
	kernel.Pairs(text, func(key []byte, n uint64) {
		switch string(key) {
		case "usage_usec":
			t.used = float64(n) / 1e6
		case "nr_periods":
			t.periods = float64(n)
		case "nr_throttled":
			t.throttled = float64(n)
		case "throttled_usec":
			t.seconds = float64(n) / 1e6
		case "throttled_time":
			t.seconds = float64(n) / 1e9
		}
	})
	return t
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
	for line := range kernel.Lines(text) {
		if n := kernel.Uints(line, numbers[:]); n == 0 {
			return 0, nil
		}
		break
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
	for line := range kernel.Lines(text) {
		if n, _, ok := kernel.Uint(line); ok {
			return n, nil
		}
		break
	}
	return 0, fmt.Errorf("%s: no number in %q", f.Name(), text)
}

// members lists the threads of a control group and of those below it.
type members struct {
	dir    string
	name   string // cgroup.threads, or with version 1 tasks
	below  []string
	looked time.Time // for groups below
	buf    *kernel.Buffer
}

func openMembers(dirs []string) (*members, error) {
	for _, name := range []string{"cgroup.threads", "tasks"} {
		if dir := holding(dirs, name); dir != "" {
			return &members{dir: dir, name: name, buf: kernel.NewBuffer()}, nil
		}
	}
	return nil, fmt.Errorf("no cgroup.threads or tasks in %q: the control group is gone", dirs)
}

// lookEvery is how often groups or processes are looked for that are new.
const lookEvery = time.Second

// list appends the ids of the threads.
func (m *members) list(ids []int) ([]int, error) {
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
