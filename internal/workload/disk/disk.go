// Package disk measures block storage through fio 3, where it is installed
// (section 3.2 of the ScaleBench paper).
//
// The pipeline of one task:
//
//  1. parameters and preset become settings (settings.go);
//  2. the volume, folder, file or device becomes a target, and what must not
//     be written to is refused (target.go, scratch.go, device_linux.go);
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
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The values of the parameters that are words.
const (
	Paper = "paper" // the only preset: section 3.2 of the ScaleBench paper

	Sequential = "sequential"
	Random     = "random"

	Read  = "read"
	Write = "write"
	Mixed = "mixed"
)

// Params are the parameters of the workload, with its state between Prepare,
// Run and Cleanup. A zero value or nil is a key that was not given: it takes
// its value from the preset, or else the default.
type Params struct {
	Preset    string         `json:"preset,omitempty" jsonschema:"enum=paper" jsonschema_description:"Values for the keys that are not given. paper: a file of twice the memory is written once, in order, in blocks of 256KiB, through the page cache; the time includes the final fsync."`
	Volume    string         `json:"volume,omitempty" jsonschema:"pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of a volume of the node. Default: its only volume; without volumes the task's own folder."`
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
	Fsync     int            `json:"fsync,omitempty" jsonschema:"minimum=1" jsonschema_description:"fsync after this many writes of each job. Default: none."`
	Layout    *bool          `json:"layout,omitempty" jsonschema_description:"Whether the whole size is written before the measurement. false is right for a device that is known to be written already. Default: true; preset paper: false while it writes in order."`

	fio    string // path of the program
	plan   settings
	target target
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "disk",
		Summary: "Block storage through fio: sequential or random, read, write or mixed, on a file system or a raw device.",
		New:     func() workload.Workload { return &Params{} },
	}
}

// UsesVolume implements workload.VolumeUser. Only the node knows how much the
// preset paper writes.
func (p *Params) UsesVolume() (name string, size unit.Size, ok bool) {
	s := p.settings()
	if s.size == 0 && !s.paper {
		s.size = defaultSize.Bytes()
	}
	return p.Volume, unit.Size(s.total()), p.Path == ""
}

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
	if err := p.chooseTarget(env); err != nil {
		return err
	}
	if err := p.fixSize(); err != nil {
		return err
	}
	if err := p.target.open(ctx, p.plan); err != nil {
		return err
	}
	for _, w := range warnings(p.plan, p.target, nodeMemory()) {
		if _, err := fmt.Fprintln(env.Stderr, "warning: "+w); err != nil {
			return fmt.Errorf("writing a warning: %w", err)
		}
	}
	if !p.target.layOut(p.plan) {
		return nil
	}
	if _, err := p.execute(ctx, env, layoutArguments(p.plan, p.target.path, p.target.direct), nil); err != nil {
		return fmt.Errorf("laying out %s: %w", p.target.path, err)
	}
	return nil
}

// Run does the work and reports progress, samples and histograms.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	m := &publisher{plan: p.plan, report: env.Report, began: time.Now(), now: time.Now}
	last, err := p.execute(ctx, env, runArguments(p.plan, p.target.path), m)
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
	return publish(env.Report, p.plan, p.target, last.job, scored)
}

// Cleanup removes the file. It never touches a device, or a file that was
// there before.
func (p *Params) Cleanup(context.Context, *workload.Env) error {
	return p.target.remove()
}
