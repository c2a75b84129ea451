package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// sector is the least unit of direct I/O on common disks, in bytes.
const sector = 512

func field(name, allowed, problem string, args ...any) error {
	return &workload.FieldError{Field: name, Problem: fmt.Sprintf(problem, args...), Allowed: "allowed is " + allowed}
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return errors.Join(p.validateWords(), p.validateNumbers(), p.validateTime(), p.validateTarget(), p.validateTogether())
}

func (p *Params) validateWords() error {
	var errs []error
	for _, w := range []struct{ field, value, allowed string }{
		{"preset", p.Preset, "paper"},
		{"pattern", p.Pattern, "sequential, random"},
		{"operation", p.Operation, "read, write, mixed"},
		{"engine", p.Engine, "psync, sync, libaio, io_uring"},
	} {
		if w.value != "" && !contains(w.allowed, w.value) {
			errs = append(errs, field(w.field, w.allowed, "there is no %s %q", w.field, w.value))
		}
	}
	return errors.Join(errs...)
}

func contains(list, word string) bool {
	for w := range strings.SplitSeq(list, ", ") {
		if w == word {
			return true
		}
	}
	return false
}

func (p *Params) validateNumbers() error {
	var errs []error
	for _, n := range []struct {
		field      string
		value, max int
	}{{"depth", p.Depth, 4096}, {"jobs", p.Jobs, 256}, {"read_share", p.ReadShare, 99}, {"fsync", p.Fsync, 1 << 30}} {
		if n.value < 0 || n.value > n.max {
			errs = append(errs, field(n.field, fmt.Sprintf("1 to %d", n.max), "%d is impossible", n.value))
		}
	}
	if p.BlockSize < 0 || p.BlockSize > unit.GiB {
		errs = append(errs, field("block_size", "up to 1GiB", "%s is no size of a block", p.BlockSize))
	}
	s := p.settings()
	if s.direct && s.block%sector != 0 {
		errs = append(errs, field("block_size", "a multiple of 512B, or direct: false", "%s cannot be read or written past the page cache", p.BlockSize))
	}
	if p.Size != 0 && p.Size.Bytes()/int64(max(1, s.jobs)) < s.block {
		errs = append(errs, field("size", "a block for each job at least", "%s is too small for %s with blocks of %s", p.Size, jobs(s.jobs), unit.Size(s.block)))
	}
	return errors.Join(errs...)
}

// jobs counts them for people.
func jobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}

func (p *Params) validateTime() error {
	s := p.settings()
	switch {
	case s.duration != 0 && s.duration < time.Second:
		return field("duration", "1s or more, or 0s to read or write the size once", "%v is too short to measure", s.duration)
	case s.duration%time.Millisecond != 0:
		return field("duration", "whole milliseconds", "fio cannot run for %v", s.duration)
	case s.ramp%time.Millisecond != 0:
		return field("ramp", "whole milliseconds", "fio cannot ramp for %v", s.ramp)
	case s.ramp > 0 && s.duration == 0:
		return field("ramp", "0s with a duration of 0s", "a fixed amount of work has no ramp: part of it would not be counted")
	}
	return nil
}

func (p *Params) validateTarget() error {
	switch {
	case p.Volume != "" && p.Path != "":
		return field("path", "one of volume and path", "there is a volume, too")
	case p.Path != "" && !filepath.IsAbs(p.Path):
		return field("path", "an absolute path, such as /mnt/data", "%q is relative", p.Path)
	case strings.ContainsAny(p.Path, "\x00\n"):
		return field("path", "a path without line breaks", "%q cannot be given to fio", p.Path)
	case p.Destroy && p.Path == "":
		return field("destroy", "destroy beside path", "volumes may be written to anyway")
	}
	return nil
}

// validateTogether checks keys that are possible by themselves.
func (p *Params) validateTogether() error {
	s := p.settings()
	switch {
	case s.depth > 1 && (s.engine == "psync" || s.engine == "sync"):
		return field("depth", "1, or the engine libaio or io_uring; jobs work in parallel with any engine", "%s does one operation at a time", s.engine)
	case p.ReadShare != 0 && s.operation != Mixed:
		return field("read_share", "read_share beside operation: mixed", "operation is %s", s.operation)
	case p.Fsync != 0 && !s.writes():
		return field("fsync", "fsync beside operation: write or mixed", "nothing is written")
	}
	return nil
}
