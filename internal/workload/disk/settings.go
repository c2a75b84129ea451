package disk

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/facts"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// defaultSize is small enough for a small volume, and beyond the cache of most
// disks; the page cache plays no part, for the default is direct.
const defaultSize = 512 * unit.MiB

// settings are the parameters with every gap filled.
type settings struct {
	paper     bool
	random    bool
	operation string
	readShare int   // per cent of operations
	block     int64 // bytes
	depth     int
	jobs      int
	direct    bool
	engine    string
	size      int64 // bytes of all jobs together; 0 until fixSize has chosen it
	ramp      time.Duration
	duration  time.Duration // 0: the size once
	fsync     int           // writes between two; 0: none
	layout    bool
}

func (s settings) reads() bool  { return s.operation != Write }
func (s settings) writes() bool { return s.operation != Read }

// part is the share of each job in bytes, whole blocks.
func (s settings) part() int64 { return s.size / int64(s.jobs) / s.block * s.block }

// total is what all jobs together use, in bytes.
func (s settings) total() int64 { return s.part() * int64(s.jobs) }

// endFsync says that the work is done only when it has reached the disk:
// writing a fixed amount into the page cache measures memory. Work for a fixed
// time cannot include it: how long the fsync takes is unknown.
func (s settings) endFsync() bool { return s.writes() && !s.direct && s.duration == 0 }

// rw is the pattern and operation in fio's word.
func (s settings) rw() string {
	word := map[string]string{Read: "read", Write: "write", Mixed: "rw"}[s.operation]
	if s.random {
		return "rand" + word
	}
	return word
}

// settings fills the gaps: a key that was given, then the preset, then the
// default.
func (p *Params) settings() settings {
	s := settings{
		paper: p.Preset == Paper, random: p.Pattern == Random, operation: cmp.Or(p.Operation, Write),
		readShare: cmp.Or(p.ReadShare, 50), block: cmp.Or(p.BlockSize, 256*unit.KiB).Bytes(),
		depth: cmp.Or(p.Depth, 1), jobs: cmp.Or(p.Jobs, 1), engine: p.Engine, size: p.Size.Bytes(),
		ramp: p.Ramp.Std(), fsync: p.Fsync,
		direct: p.Preset != Paper, duration: 30 * time.Second,
	}
	if s.paper {
		s.duration = 0
	}
	if p.Direct != nil {
		s.direct = *p.Direct
	}
	if p.Duration != nil {
		s.duration = p.Duration.Std()
	}
	if s.engine == "" && s.depth == 1 {
		s.engine = "psync"
	} else if s.engine == "" {
		s.engine = "libaio"
	}
	// The paper's tool writes a new file; in order and through the page cache
	// its metadata costs next to nothing.
	s.layout = !s.paper || s.random || s.reads()
	if p.Layout != nil {
		s.layout = *p.Layout
	}
	return s
}

// nodeMemory is what the page cache of this node may take: its memory, or the
// limit of its control group; 0 if unknown. Bytes.
func nodeMemory() int64 {
	total, limit := facts.Memory(os.DirFS("/"))
	if limit > 0 && (total == 0 || limit < total) {
		return limit
	}
	return total
}

// fixSize chooses the size when none is given.
func (p *Params) fixSize() error {
	s := &p.plan
	switch {
	case s.size > 0:
	case p.target.kind == existing && !p.Destroy:
		s.size = p.target.size
	case !s.paper:
		s.size = defaultSize.Bytes()
	default:
		memory := nodeMemory()
		if memory == 0 {
			return errors.New("the memory of this node is unknown, so the default size (twice the memory) is unknown: give a size")
		}
		s.size = 2 * memory
	}
	if s.part() == 0 {
		return fmt.Errorf("a size of %s is too small for %s with blocks of %s: give a larger size", unit.Size(s.size), jobs(s.jobs), unit.Size(s.block))
	}
	return nil
}

// warnings says what makes the result doubtful although it can be measured.
func warnings(s settings, t target, memory int64) []string {
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.paper && t.filesystem != "ext4" {
		warn("the paper measured ext4, and %s is %s: results are not comparable with the paper's", t.path, t.filesystem)
	}
	if !s.direct && s.writes() && s.duration > 0 {
		warn("writes go through the page cache for a fixed time, so data still in memory at the end counts as written; set direct: true, or duration: 0s, which includes the final fsync")
	}
	if !s.direct && memory > 0 && s.total() < 2*memory {
		warn("%s through the page cache is less than twice the memory of %s, so memory is measured as well as the disk; set direct: true or a larger size",
			human(s.total()), human(memory))
	}
	if !s.direct && s.depth > 1 && s.engine == "libaio" {
		warn("libaio through the page cache does one operation at a time at any depth: set direct: true")
	}
	if s.reads() && t.kind == device && !t.layOut(s) {
		warn("%s was not laid out: the device may answer reads of blocks that were never written without the medium; set destroy: true and layout: true to write it first", t.path)
	}
	return out
}

func human(bytes int64) string { return unit.Human(float64(bytes), "B") }

// sector is the least unit of direct I/O on common disks, in bytes.
const sector = 512

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	s := p.settings()
	return errors.Join(p.validateWords(), p.validateNumbers(),
		cmp.Or(
			workload.Refuse(s.duration != 0 && s.duration < time.Second, "duration", "1s or more, or 0s to read or write the size once", "%v is too short to measure", s.duration),
			workload.Refuse(s.duration%time.Millisecond != 0, "duration", "whole milliseconds", "fio cannot run for %v", s.duration),
			workload.Refuse(s.ramp%time.Millisecond != 0, "ramp", "whole milliseconds", "fio cannot ramp for %v", s.ramp),
			workload.Refuse(s.ramp > 0 && s.duration == 0, "ramp", "0s with a duration of 0s", "a ramp would leave part of a fixed amount of work uncounted"),
		),
		cmp.Or(
			workload.Refuse(p.Volume != "" && p.Path != "", "path", "one of volume and path", "volume and path exclude each other"),
			workload.Refuse(p.Path != "" && !filepath.IsAbs(p.Path), "path", "an absolute path, such as /mnt/data", "%q is relative", p.Path),
			workload.Refuse(strings.ContainsAny(p.Path, "\x00\n"), "path", "a path without line breaks", "%q cannot be given to fio", p.Path),
			workload.Refuse(p.Destroy && p.Path == "", "destroy", "destroy only with path", "volumes may always be written to"),
		),
		cmp.Or( // keys that are possible by themselves
			workload.Refuse(s.depth > 1 && (s.engine == "psync" || s.engine == "sync"), "depth", "1, or the engine libaio or io_uring; jobs work in parallel with any engine", "%s does one operation at a time", s.engine),
			workload.Refuse(p.ReadShare != 0 && s.operation != Mixed, "read_share", "it only with operation: mixed", "does not apply to operation: %s", s.operation),
			workload.Refuse(p.Fsync != 0 && !s.writes(), "fsync", "it only with operation: write or mixed", "nothing is written"),
		))
}

func (p *Params) validateWords() error {
	var errs []error
	for _, w := range []struct{ key, value, allowed string }{
		{"preset", p.Preset, "paper"},
		{"pattern", p.Pattern, "sequential, random"},
		{"operation", p.Operation, "read, write, mixed"},
		{"engine", p.Engine, "psync, sync, libaio, io_uring"},
	} {
		bad := w.value != "" && !slices.Contains(strings.Split(w.allowed, ", "), w.value)
		errs = append(errs, workload.Refuse(bad, w.key, w.allowed, "unknown %s %q", w.key, w.value))
	}
	return errors.Join(errs...)
}

func (p *Params) validateNumbers() error {
	var errs []error
	for _, n := range []struct {
		key        string
		value, max int
	}{{"depth", p.Depth, 4096}, {"jobs", p.Jobs, 256}, {"read_share", p.ReadShare, 99}, {"fsync", p.Fsync, 1 << 30}} {
		errs = append(errs, workload.Refuse(n.value < 0 || n.value > n.max, n.key, fmt.Sprintf("1 to %d", n.max), "%d is impossible", n.value))
	}
	s := p.settings()
	errs = append(errs,
		workload.Refuse(p.BlockSize < 0 || p.BlockSize > unit.GiB, "block_size", "up to 1GiB", "%s is not a useful block size", p.BlockSize),
		workload.Refuse(s.direct && s.block%sector != 0, "block_size", "a multiple of 512B, or direct: false", "%s cannot be read or written past the page cache", p.BlockSize),
		workload.Refuse(p.Size != 0 && p.Size.Bytes()/int64(max(1, s.jobs)) < s.block, "size", "at least one block per job",
			"%s is too small for %s with blocks of %s", p.Size, jobs(s.jobs), unit.Size(s.block)))
	return errors.Join(errs...)
}

// jobs counts them for people.
func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
