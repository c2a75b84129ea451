// Package disk measures block storage through fio 3, where it is installed
// (section 3.2 of the ScaleBench paper).
//
// The pipeline of one task:
//
//  1. parameters and preset become settings;
//  2. the volume, folder, file or device becomes a target, and what must not
//     be written to is refused (target.go, scratch.go, device_linux.go);
//     several volumes become one (array.go), or a target each (union.go);
//  3. fio lays the target out in a run of its own, which is not timed
//     (fio.go), because a write into a block that was never written
//     also writes metadata, and a read of it may not reach the disk at all;
//  4. fio does the work and prints its state as JSON twice a second, one
//     document after another; the documents are cut out of whatever else it
//     prints (result.go) and become progress counters (publisher.go);
//  5. the last document becomes samples and histograms (result.go).
//
// fio's own clock places each reading in time: a document carries the bytes
// and the milliseconds since the end of the ramp, both taken at one moment,
// while the document itself may be printed much later, when a thread of fio
// was busy in a long system call.
package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/facts"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The values of the parameters that are words.
const (
	Paper = "paper" // the only preset: section 3.2 of the ScaleBench paper

	Random = "random"

	Read  = "read"
	Write = "write"
	Mixed = "mixed"
)

// Params are the parameters of the workload, with its state between Prepare,
// Run and Cleanup. A zero value or nil is a key that was not given: it takes
// its value from the preset, or else the default.
type Params struct {
	Preset    string         `json:"preset,omitempty" jsonschema:"enum=paper" jsonschema_description:"Values for the keys that are not given. paper: a file of twice the memory is written once, in order, in blocks of 256KiB, through the page cache; the time includes the final fsync. If a node has several volumes and none is named, it is on all, as volumes says."`
	Volume    string         `json:"volume,omitempty" jsonschema:"pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of a volume of the node. Default: its only volume; without volumes the task's own folder."`
	Volumes   []string       `json:"volumes,omitempty" jsonschema_description:"Names of volumes that are one. Block devices, which must hold nothing, become a RAID0 with an ext4 file system. If the kernel has no md, or they are folders, blocks go to the volumes in turn, and the task says so."`
	Path      string         `json:"path,omitempty" jsonschema_description:"Absolute path of a folder, a file or a block device on every node, instead of a volume."`
	Destroy   bool           `json:"destroy,omitempty" jsonschema_description:"Allow overwriting the existing file or block device of path."`
	Pattern   string         `json:"pattern,omitempty" jsonschema:"enum=sequential,enum=random,default=sequential" jsonschema_description:"Order of the blocks."`
	Operation string         `json:"operation,omitempty" jsonschema:"enum=read,enum=write,enum=mixed,default=write" jsonschema_description:"What is done with the blocks."`
	ReadShare int            `json:"read_share,omitempty" jsonschema:"minimum=1,maximum=99,default=50" jsonschema_description:"mixed: percentage of reads."`
	BlockSize unit.Size      `json:"block_size,omitempty" jsonschema_description:"Size of one operation. Default: 256KiB."`
	Depth     int            `json:"depth,omitempty" jsonschema:"minimum=1,maximum=4096,default=1" jsonschema_description:"Operations that each job keeps in flight."`
	Jobs      int            `json:"jobs,omitempty" jsonschema:"minimum=1,maximum=256,default=1" jsonschema_description:"Threads; each has its own part of the file."`
	Direct    *bool          `json:"direct,omitempty" jsonschema_description:"true: past the page cache (O_DIRECT), the default. false: through it, the default of the preset paper."`
	Engine    string         `json:"engine,omitempty" jsonschema:"enum=psync,enum=sync,enum=libaio,enum=io_uring" jsonschema_description:"How fio asks the kernel. Default: psync with a depth of 1, libaio with more."`
	Size      unit.Size      `json:"size,omitempty" jsonschema_description:"Size of the file, or of the part of the device that is used. Default: 512MiB; preset paper: twice the memory of the node."`
	Ramp      unit.Duration  `json:"ramp,omitempty" jsonschema_description:"Warm-up before the measurement; its work is not counted. Default: 0s."`
	Duration  *unit.Duration `json:"duration,omitempty" jsonschema_description:"How long to measure. Default: 30s. 0s, the default of the preset paper: until the whole size was read or written once."`
	Fsync     int            `json:"fsync,omitempty" jsonschema:"minimum=1,maximum=1073741824" jsonschema_description:"fsync after this many writes of each job. Default: none."`
	Layout    *bool          `json:"layout,omitempty" jsonschema_description:"Whether the whole size is written before the measurement. false is right for a device that is known to be written already. Default: true; preset paper: false while it writes in order."`

	fio  string // path of the program
	plan settings
	// targets are one, or the members over which blocks go in turn.
	targets []target
	union   union
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "disk",
		Summary: "Block storage through fio: sequential or random, read, write or mixed, on a file system or a raw device.",
		New:     func() workload.Workload { return &Params{} },
		Sweep:   sweepVolumes,
	}
}

// UsesVolumes implements workload.VolumeUser. Only the node knows how much the
// preset paper writes, and to which of several volumes if none is named.
func (p *Params) UsesVolumes(has int) (names []string, size unit.Size, ok bool) {
	s := p.settings()
	if s.size == 0 && !s.paper {
		s.size = defaultSize.Bytes()
	}
	if s.files = len(p.Volumes); s.files == 0 {
		return []string{p.Volume}, unit.Size(s.share()), p.Path == "" && !p.unites(has)
	}
	return p.Volumes, unit.Size(s.share()), true
}

// Tools implements workload.ToolUser.
func (p *Params) Tools() []workload.Tool { return []workload.Tool{{Name: "fio"}} }

// Estimate implements workload.Workload. How long a fixed amount of work takes
// is what is to be measured.
func (p *Params) Estimate() time.Duration {
	s := p.settings()
	if s.duration == 0 {
		return 0
	}
	return s.ramp + s.duration
}

// Prepare finds fio and the target, checks that the work can be done there,
// and lays it out.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	var err error
	if p.fio, err = workload.FindVersion(ctx, "fio", env.Environ, versionForm, "fio 3 or later"); err != nil {
		return err
	}
	p.plan = p.settings()
	if err := p.chooseTargets(ctx, env); err != nil {
		return err
	}
	if err := p.fixSize(); err != nil {
		return err
	}
	for i := range p.targets {
		if err := p.targets[i].open(ctx, p.plan); err != nil {
			return err
		}
	}
	first := p.targets[0]
	first.filesystem = p.filesystems()
	for _, w := range append(p.union.notes, warnings(p.plan, first, nodeMemory())...) {
		if _, err := fmt.Fprintln(env.Stderr, "warning: "+w); err != nil {
			return fmt.Errorf("writing a warning: %w", err)
		}
	}
	if !first.layOut(p.plan) {
		return nil
	}
	direct := !slices.ContainsFunc(p.targets, func(t target) bool { return !t.direct })
	if _, err := p.execute(ctx, env, layoutArguments(p.plan, p.paths(), direct), nil); err != nil {
		return fmt.Errorf("laying out %s: %w", first.path, err)
	}
	return nil
}

// Run does the work and reports progress, samples and histograms.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	m := &publisher{plan: p.plan, report: env.Report, began: time.Now(), now: time.Now}
	last, err := p.execute(ctx, env, runArguments(p.plan, p.paths()), m)
	if last != nil {
		// Complete, so that people and programs can read it; of the documents
		// before it, the series hold what they say.
		if _, err := fmt.Fprintf(env.Stdout, "%s\n", last.text); err != nil {
			return fmt.Errorf("keeping fio's report: %w", err)
		}
	}
	if err != nil {
		return err
	}
	if last == nil {
		return fmt.Errorf("fio succeeded but printed no report; check that %s is fio 3", p.fio)
	}
	if err := checkComplete(p.plan, last.job); err != nil {
		return err
	}
	scored, err := m.finish(ctx, last.job)
	if err != nil {
		return err
	}
	return publish(env.Report, p.plan, p.labels(), last.job, scored)
}

// Cleanup removes the file, and what made one of several volumes. It never touches a
// device, or a file that was there before.
func (p *Params) Cleanup(ctx context.Context, env *workload.Env) error {
	var errs []error
	for i := range p.targets {
		errs = append(errs, p.targets[i].remove())
	}
	return errors.Join(append(errs, p.union.release(ctx, env.Environ))...)
}

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
	files     int // to which blocks go in turn; 0 is 1
}

func (s settings) reads() bool  { return s.operation != Write }
func (s settings) writes() bool { return s.operation != Read }

// members are the files to which blocks go in turn.
func (s settings) members() int64 { return int64(max(1, s.files)) }

// part is the share of each job in bytes, whole blocks on each file.
func (s settings) part() int64 {
	row := s.block * s.members()
	return s.size / int64(s.jobs) / row * row
}

// share is what is used of each file, in bytes.
func (s settings) share() int64 { return s.total() / s.members() }

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
	case p.targets[0].kind == existing && !p.Destroy:
		s.size = p.targets[0].size
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
		return fmt.Errorf("a size of %s is too small for %s with blocks of %s: give a larger size", unit.Size(s.size),
			num.Count(s.jobs, "job"), unit.Size(s.block))
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

func human(bytes int64) string { return num.Human(float64(bytes), "B") }

// sector is the least unit of direct I/O on common disks, in bytes.
const sector = 512

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	s := p.settings()
	return errors.Join(
		workload.Refuse(p.BlockSize < 0 || p.BlockSize > unit.GiB, "block_size", "up to 1GiB",
			"%s is not a useful block size", p.BlockSize),
		workload.Refuse(s.direct && s.block%sector != 0, "block_size", "a multiple of 512B, or direct: false",
			"%s cannot be read or written past the page cache", p.BlockSize),
		workload.Refuse(p.Size != 0 && p.Size.Bytes()/int64(s.jobs) < s.block, "size", "at least one block per job",
			"%s is too small for %s with blocks of %s", p.Size, num.Count(s.jobs, "job"), unit.Size(s.block)),
		cmp.Or(
			workload.Refuse(s.duration != 0 && s.duration < time.Second, "duration", "1s or more, or 0s to read or write the size once", "%v is too short to measure", s.duration),
			workload.Refuse(s.duration%time.Millisecond != 0, "duration", "whole milliseconds", "fio cannot run for %v", s.duration),
			workload.Refuse(s.ramp%time.Millisecond != 0, "ramp", "whole milliseconds", "fio cannot ramp for %v", s.ramp),
			workload.Refuse(s.ramp > 0 && s.duration == 0, "ramp", "0s with a duration of 0s", "a ramp would leave part of a fixed amount of work uncounted"),
		),
		cmp.Or(
			workload.Refuse(len(p.Volumes) > 0 && (p.Volume != "" || p.Path != ""), "volumes",
				"one of volumes, volume and path", "they exclude each other"),
			workload.Refuse(len(slices.Compact(slices.Sorted(slices.Values(p.Volumes)))) < len(p.Volumes), "volumes",
				"each volume once", "a volume stands there twice"),
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
