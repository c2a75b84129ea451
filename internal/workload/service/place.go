package service

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/scalebench/scalebench/internal/expression"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// place is where the services of a task have what outlives their processes:
// folders, and control groups. The names say of which process they are, so that
// what a process has left that was killed is found.
type place struct {
	volumes map[string]string
	owner   string    // this process, as names say it
	tell    io.Writer // takes what stays though the task ends

	mu      sync.Mutex
	folders []string // of this task, one a volume
	groups  []*group
	kept    int // files, of all services
}

// mayKeep reports whether the task may keep one file more, and counts it.
func (p *place) mayKeep() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept++
	return p.kept <= model.MaxKept
}

// Sweep removes what tasks of this user that were killed have left on this node:
// control groups with the processes in them, and folders, those on volumes included.
// What tasks of other machines and PID namespaces have there stays.
func Sweep(volumes map[string]string) {
	self, err := selfOwner()
	if err != nil {
		return
	}
	sweepGroups(self)
	sweepFolders(self, defaultBase())
	for _, at := range volumes {
		sweepFolders(self, onVolume(at))
	}
}

// sweepFolders removes the folders of dead tasks; the next one tries again.
func sweepFolders(self owner, base string) {
	if checkOwn(base) != nil {
		return
	}
	entries, _ := os.ReadDir(base) // what cannot be read has none of ours
	for _, e := range entries {
		if self.left(e.Name()) {
			_ = removeFolder(filepath.Join(base, e.Name()))
		}
	}
	_ = os.Remove(base) // others may be in it
}

// removeFolder removes a folder unless something is mounted in it: that is not the
// task's own, and must not be emptied.
func removeFolder(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	mounts, err := procself.MountedIn(real)
	switch {
	case err != nil:
		return err
	case len(mounts) > 0:
		return fmt.Errorf("the service's folder %s stays, because %s is mounted in it: unmount that; "+
			"what starts next on this node then removes the folder", dir, mounts[0].Point)
	}
	return os.RemoveAll(dir)
}

// defaultBase holds the folders that are on no volume: below /var/tmp programs that
// run as other users come to them, too.
func defaultBase() string { return onVolume("/var/tmp") }

// onVolume is the common folder of this user's tasks.
func onVolume(path string) string {
	return filepath.Join(path, fmt.Sprintf("scalebench-services-%d", os.Geteuid()))
}

// folder makes the folder of a service.
func (p *place) folder(service, volume string) (string, error) {
	base := defaultBase()
	if volume != "" {
		at, ok := p.volumes[volume]
		if !ok {
			return "", fmt.Errorf("this node has no volume %q: give its agent --volume %s=PATH, or leave volume out", volume, volume)
		}
		base = onVolume(at)
	}
	own := filepath.Join(base, p.owner)
	err := fs.ErrNotExist
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < 10; try++ {
		// Another task takes the common folder away when it is empty, perhaps just now.
		if err = ownFolder(base); err == nil {
			err = os.Mkdir(own, 0o711)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	p.mu.Lock()
	p.folders = append(p.folders, own)
	p.mu.Unlock()
	dir := filepath.Join(own, service)
	return dir, os.Mkdir(dir, 0o755)
}

// ownFolder makes a folder, or makes sure that the one that is there is this
// user's: others can write to /var/tmp.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o711); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkOwn(dir)
}

// checkOwn fails unless a folder is there that only this user can change.
func checkOwn(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of this user's own: remove it", dir)
	}
	return nil
}

// group makes the control group of a service; it has no folders where none can be made.
func (p *place) group(service string) (*group, error) {
	g, err := newGroup(p.owner + "-" + service)
	if err != nil {
		return &group{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups = append(p.groups, g)
	return g, nil
}

// remove removes all of it, with the processes in the groups.
func (p *place) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.groups {
		g.remove()
	}
	for _, dir := range p.folders {
		if err := removeFolder(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			_, _ = fmt.Fprintln(p.tell, err) // the next task tries again
		}
		_ = os.Remove(filepath.Dir(dir))
	}
	p.groups, p.folders = nil, nil
}

// Host is an instance as templates see it.
type Host struct {
	Name    string
	Index   int
	Address string
	Port    int
}

// view is what a template has.
type view struct {
	Self    Host
	Service map[string][]Host
	Dir     string
}

// render fills in the templates of a service: the content of files, by path.
func (p *Params) render(r *running) (map[string][]byte, error) {
	v := view{Host{r.Name, r.Index, r.env.Self.Address, r.Port}, make(map[string][]Host), r.dir}
	for name, addresses := range p.Hosts {
		for i, a := range addresses {
			v.Service[name] = append(v.Service[name], Host{name, i, a, p.Ports[name]})
		}
	}
	out := make(map[string][]byte, len(r.Files))
	for _, f := range r.Files {
		t, err := expression.NewTemplate(f.Path, r.fill(f.Template))
		var b bytes.Buffer
		if err == nil {
			err = t.Execute(&b, v)
		}
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", f.Path, err)
		}
		out[f.Path] = b.Bytes()
	}
	return out, nil
}

// writeFiles puts files into a folder. One that was there keeps its mode. A link that
// leads out of the folder is not followed.
func writeFiles(dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // a folder
	for name, content := range files {
		err := root.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = root.WriteFile(name, content, 0o600) // there may be passwords in it
		}
		if err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
	}
	return nil
}

// fill replaces what stands for this instance itself.
func (r *running) fill(text string) string {
	return strings.NewReplacer(
		model.SelfPlaceholder, cmp.Or(r.env.Self.Address, "127.0.0.1"),
		model.IndexPlaceholder, strconv.Itoa(r.Index),
	).Replace(text)
}
