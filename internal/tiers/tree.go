package tiers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/procself"
)

// tree is a process with all its descendants, and what is in its process group:
// a service that has no control group of its own.
type tree struct {
	root       int
	processors float64 // that it may use
	// above is the group of the node, in which it is; nil: it has no limit. unknown:
	// whether it has one cannot be read.
	above   *group
	unknown bool
	pids    []int
	looked  time.Time // for processes that are new
}

// Parse emits the processor time. Of processes that ended it has that of those
// which a process of the tree waited for.
func (t *tree) Parse(out kernel.Emit) error {
	if err := t.look(); err != nil {
		return err
	}
	var used time.Duration
	for _, pid := range t.pids {
		if p, err := procself.ReadProcess(pid); err == nil { // it may have ended just now
			used += p.CPU
		}
	}
	out("cpu", used.Seconds())
	switch {
	case t.above != nil:
		return t.above.Parse(out)
	case !t.unknown:
		out("quota", t.processors)
	}
	return nil
}

func (t *tree) Close() {
	if t.above != nil {
		t.above.Close()
	}
}

// lookEvery is how often processes are looked for that are new.
const lookEvery = time.Second

// look finds the processes anew when it is time.
func (t *tree) look() error {
	now := time.Now()
	if now.Sub(t.looked) < lookEvery {
		return nil
	}
	pids, err := numbers("/proc")
	if err != nil {
		return err
	}
	var all []procself.Process
	for _, pid := range pids {
		if p, err := procself.ReadProcess(pid); err == nil { // it may have ended just now
			all = append(all, p)
		}
	}
	t.looked, t.pids = now, descendants(all, t.root)
	if len(t.pids) == 0 {
		return fmt.Errorf("process %d is gone", t.root)
	}
	return nil
}

// list appends the ids of the threads.
func (t *tree) list(ids []int) ([]int, error) {
	if err := t.look(); err != nil {
		return ids, err
	}
	for _, pid := range t.pids {
		threads, err := numbers("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ids, err
		}
		ids = append(ids, threads...)
	}
	return ids, nil
}

// numbers lists the entries of a directory that are numbers.
func numbers(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, n)
		}
	}
	return list, err
}

// descendants are a process, those below it, those of its process group if it
// leads one, and those below them.
func descendants(all []procself.Process, root int) []int {
	children := map[int][]int{}
	var found []int
	known := map[int]bool{}
	add := func(pid int) {
		if !known[pid] {
			known[pid], found = true, append(found, pid)
		}
	}
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p.PID)
		if p.PID == root || p.Group == root {
			add(p.PID)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range children[found[i]] {
			add(child)
		}
	}
	return found
}
