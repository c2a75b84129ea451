package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/workload"
)

// targetKind is what is read or written.
type targetKind int

const (
	ours     targetKind = iota // a file that Prepare makes and Cleanup removes
	existing                   // a file that was there before
	device                     // a block device
)

// target is what is read or written.
type target struct {
	kind targetKind
	path string // of the file or device
	size int64  // bytes that it has
	// erasable: what it holds may be overwritten. unnamed: nobody has named it to be, so that
	// it must hold nothing; environ is that of the programs which look.
	erasable   bool
	unnamed    bool
	environ    []string
	filesystem string // "ext4", …; "raw device"; "" when unknown
	// direct: it takes direct I/O, as found by trying.
	direct  bool
	created bool
	scratch *scratch // the folder that holds the file; nil when the user named the file
}

// chooseTargets follows volumes and path to files or devices.
func (p *Params) chooseTargets(ctx context.Context, env *workload.Env) error {
	places, volume, err := p.places(env)
	if err == nil && p.unites(len(env.Volumes)) {
		places, err = p.union.make(ctx, env, places)
	}
	if err != nil {
		return err
	}
	p.plan.files = len(places)
	for _, place := range places {
		t, err := newTarget(place, p.Destroy || volume)
		if err != nil {
			return err
		}
		t.unnamed, t.environ = volume && !p.Destroy, env.Environ
		if len(p.union.mounts) > 0 {
			t.filesystem = fileSystem // a mount of the task's own is in no table
		}
		p.targets = append(p.targets, t)
	}
	return nil
}

// paths are those of the targets.
func (p *Params) paths() (out []string) {
	for _, t := range p.targets {
		out = append(out, t.path)
	}
	return out
}

// newTarget is the file or device at a place.
func newTarget(place string, erasable bool) (target, error) {
	t := target{erasable: erasable}
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the name of a new file
		folder := filepath.Dir(place)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return t, fmt.Errorf("the folder %s for %s is missing on this node: create it, or use another path or volume",
				folder, filepath.Base(place))
		}
		t.path, t.filesystem = place, filesystemOf(folder)
	case err != nil:
		return t, fmt.Errorf("looking at %s: %w", place, err)
	case info.IsDir():
		t.filesystem = filesystemOf(place)
		t.scratch, err = newScratch(place)
		if err != nil {
			return t, fmt.Errorf("making a folder in %s: %w: choose a volume or path where the agent may write", place, err)
		}
		t.path = t.scratch.file()
	case info.Mode().IsRegular():
		t.kind, t.path, t.size, t.filesystem = existing, place, info.Size(), filesystemOf(place)
	case isDevice(info):
		t.kind, t.path, t.filesystem = device, place, "raw device"
	default:
		return t, fmt.Errorf("%s is a %s: give a folder, a file or a block device", place, info.Mode().Type())
	}
	return t, nil
}

func isDevice(info fs.FileInfo) bool {
	return info.Mode()&fs.ModeDevice != 0 && info.Mode()&fs.ModeCharDevice == 0
}

// places are the paths that the parameters name, and whether they are volumes'.
func (p *Params) places(env *workload.Env) (paths []string, volume bool, err error) {
	names := slices.Sorted(maps.Keys(env.Volumes))
	wanted := p.Volumes
	switch {
	case p.Path != "":
		return []string{p.Path}, false, nil
	case p.Volume != "":
		wanted = []string{p.Volume}
	case len(wanted) == 0 && len(names) == 0:
		return []string{env.Dir}, false, nil
	case len(wanted) == 0 && len(names) > 1 && !p.unites(len(names)):
		return nil, false, fmt.Errorf("this node has the volumes %s: choose one with volume: NAME", strings.Join(names, ", "))
	case len(wanted) == 0:
		wanted = names
	}
	for _, name := range wanted {
		path, ok := env.Volumes[name]
		if !ok && len(names) == 0 {
			return nil, false, fmt.Errorf("this node has no volumes, so volume %q is unknown: give a path", name)
		}
		if !ok {
			return nil, false, fmt.Errorf("this node has no volume %q: it has %s", name, strings.Join(names, ", "))
		}
		paths = append(paths, path)
	}
	return paths, true, nil
}

// layOut says whether the target is to be written before the measurement:
// never what may not be overwritten.
func (t target) layOut(s settings) bool {
	return s.layout && (t.kind == ours || t.erasable)
}

// overwrites says whether the task writes to the target at all.
func (t target) overwrites(s settings) bool { return s.writes() || t.layOut(s) }

// open checks that the work can be done on the target, and makes the file.
func (t *target) open(ctx context.Context, s settings) error {
	if err := t.allowed(ctx, s); err != nil {
		return err
	}
	if err := t.fits(s); err != nil {
		return err
	}
	if t.kind != ours {
		return t.tryDirect(s)
	}
	if use := map[bool]string{true: "read", false: "written at random"}[s.reads()]; !s.layout && (s.reads() || s.random) {
		return fmt.Errorf("%s is new, and its blocks would be %s before they are written: leave out layout: false", t.path, use)
	}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("making the file: %w: choose a volume or path where the agent may write", err)
	}
	t.created = true
	if err := f.Close(); err != nil {
		return fmt.Errorf("making the file: %w", err)
	}
	return t.tryDirect(s)
}

// allowed refuses what must not be overwritten.
func (t *target) allowed(ctx context.Context, s settings) error {
	if t.kind != ours && s.writes() && !t.erasable {
		return fmt.Errorf("%s exists, and its data would be lost: set destroy: true in the experiment file to overwrite it, or give a folder", t.path)
	}
	if t.kind == existing && t.unnamed && t.overwrites(s) {
		return fmt.Errorf("the volume %s is a file that exists, and its data would be lost: give a folder, or name the "+
			"file with path and destroy: true", t.path)
	}
	if t.kind != device {
		return nil
	}
	var err error
	switch {
	case t.overwrites(s) && t.unnamed:
		err = free(ctx, t.environ, t.path)
	case t.overwrites(s):
		err = unclaimed(ctx, t.path)
	}
	if err != nil {
		return err
	}
	t.size, err = deviceSize(t.path)
	return err
}

// fits refuses a size that is larger than the room.
func (t *target) fits(s settings) error {
	if t.kind == device || (t.kind == existing && !t.erasable) {
		if s.share() > t.size {
			return fmt.Errorf("%s has %s, less than the size of %s: give a smaller size", t.path, human(t.size),
				human(s.share()))
		}
		return nil
	}
	free, _, err := procself.Room(filepath.Dir(t.path))
	if err != nil {
		return fmt.Errorf("asking for the free space at %s: %w", t.path, err)
	}
	// A thousandth is for the file system's own blocks.
	if need := s.share() - t.size; need > free-free/1000 {
		return fmt.Errorf("a file of %s does not fit on the file system of %s, which has %s free: "+
			"give a smaller size (key size) or a larger volume", human(s.share()), filepath.Dir(t.path), human(free))
	}
	return nil
}

// tryDirect finds out whether the target takes direct I/O.
func (t *target) tryDirect(s settings) error {
	mode, right := os.O_RDONLY, "read"
	if t.overwrites(s) {
		mode, right = os.O_RDWR, "write to"
	}
	f, err := os.OpenFile(t.path, mode|directIO, 0)
	t.direct = err == nil && directIO != 0
	if errors.Is(err, unix.EINVAL) { // the file system does not know direct I/O
		f, err = os.OpenFile(t.path, mode, 0)
	}
	if err == nil {
		err = f.Close()
	}
	switch {
	case err != nil:
		return fmt.Errorf("opening the target: %w: the agent needs the right to %s it", err, right)
	case s.direct && !t.direct:
		return fmt.Errorf("%s (%s) does not support direct I/O: set direct: false, which measures the page cache, too, or choose another volume", t.path, cmp.Or(t.filesystem, "unknown file system"))
	}
	return nil
}

// remove removes what open and newScratch made. It may be called at any state
// and again.
func (t *target) remove() error {
	var err error
	switch {
	case t.created && t.scratch != nil:
		err = t.scratch.removeFile()
	case t.created:
		err = os.Remove(t.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	t.created = t.created && err != nil
	if t.scratch != nil {
		err = errors.Join(err, t.scratch.remove())
	}
	return err
}

// filesystemOf is the type of the file system that holds a path, as Linux
// calls it ("ext4", "xfs", "tmpfs"); "" if unknown.
func filesystemOf(path string) string {
	full, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return typeOfMount(string(table), full)
}

// typeOfMount finds the mount that holds a path in a table like
// /proc/self/mountinfo (proc(5)): the one with the longest mount point, and
// the last of those, which lies on top.
func typeOfMount(table, path string) string {
	var best, kind string
	for m := range procself.Mounts(table) {
		holds := m.Point == "/" || path == m.Point || strings.HasPrefix(path, m.Point+"/")
		if holds && len(m.Point) >= len(best) {
			best, kind = m.Point, m.Type
		}
	}
	return kind
}
