package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
)

// manifestVersion changes when an old reader would misunderstand a new file.
const manifestVersion = 1

// groupRoot is the name of the directory, in each cgroup hierarchy, below
// which all labs have theirs.
const groupRoot = "scalebench"

// Manifest lists everything that a lab is made of. It is written before
// anything is made, so whatever happens to the process that makes it, what is
// there can be found and removed.
type Manifest struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Owner   Owner     `json:"owner"`
	Keep    bool      `json:"keep,omitempty"`
	// Path is the file that holds this manifest.
	Path string `json:"-"`

	// Hosts are the nodes, then the services.
	Hosts []HostRecord `json:"hosts"`
	// Switch is the namespace that holds the bridges. It has no name in
	// Hosts.
	Switch  Namespace      `json:"switch"`
	Volumes []VolumeRecord `json:"volumes,omitempty"`
	// Cgroups are absolute paths of directories, parents first; Unified says
	// that they are of cgroup v2.
	Cgroups []string `json:"cgroups"`
	Unified bool     `json:"unified,omitempty"`
	// Dir holds the lab's backing files, mount points, folders and logs.
	Dir string `json:"dir"`
}

// HostRecord is a host with what is needed to start a process on it.
type HostRecord struct {
	Host
	Namespace Namespace `json:"namespace"`
	// Uplink is the rate that the host shares with the others of its group;
	// zero: no limit.
	Uplink unit.Rate `json:"uplink,omitzero"`
	// Port is the name of the switch's end of the host's link.
	Port string `json:"port"`
	// Groups are the cgroups of its processes, one in each hierarchy. They
	// depend on the group of the process that built the lab, so other
	// processes that start programs later find them here.
	Groups []string `json:"groups"`
	// Paths of the host's volumes by name: a mount point, a block device, or
	// a folder.
	Paths map[string]string `json:"paths,omitempty"`
}

// Namespace is a network namespace with a name below /run/netns. The inode
// tells it from another of the same name; 0: not made.
type Namespace struct {
	Name  string `json:"name"`
	Inode uint64 `json:"inode,omitempty"`
}

// VolumeRecord is a volume as it is made: one for each node, or one for all
// that share it.
type VolumeRecord struct {
	Volume
	// Hosts have the volume.
	Hosts   []string `json:"hosts"`
	Backing string   `json:"backing,omitempty"` // the file behind the loop device
	Mount   string   `json:"mount,omitempty"`   // where an ext4 volume is mounted
	Folder  string   `json:"folder,omitempty"`  // a folder volume
	Device  string   `json:"device,omitempty"`  // the loop device, once there is one
}

var idPattern = regexp.MustCompile(`^[a-z0-9]{1,12}$`)

// CheckID reports whether id can name a lab.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("lab id %q: must be 1 to 12 lower-case letters and digits", id)
	}
	return nil
}

// ParseManifest reads a manifest and checks that it names nothing but what a
// lab with its id makes. Removing what it lists can then not remove anything
// else, even if the file was damaged.
func ParseManifest(data []byte) (m Manifest, err error) {
	err = json.Unmarshal(data, &m)
	switch {
	case err != nil:
	case m.Version != manifestVersion:
		err = fmt.Errorf("version %d, but this scalebench reads %d; use the scalebench that made the lab", m.Version, manifestVersion)
	default:
		err = errors.Join(CheckID(m.ID), m.check())
	}
	if err != nil {
		return m, fmt.Errorf("reading lab manifest: %w", err)
	}
	return m, nil
}

// check reports names and paths that do not belong to the lab.
func (m Manifest) check() (err error) {
	foreign := func(what, path string) {
		err = errors.Join(err, fmt.Errorf("%s %q does not belong to lab %s", what, path, m.ID))
	}
	for _, n := range m.namespaces() {
		if n.Name != m.netns("") && !strings.HasPrefix(n.Name, m.netns("")+"-") || strings.ContainsAny(n.Name, "/\x00") {
			foreign("namespace", n.Name)
		}
	}
	groups := slices.Clone(m.Cgroups)
	for _, h := range m.Hosts {
		groups = append(groups, h.Groups...)
	}
	for _, g := range groups {
		if !m.ownsGroup(g) {
			foreign("cgroup", g)
		}
	}
	if !filepath.IsAbs(m.Dir) || filepath.Clean(m.Dir) != m.Dir || filepath.Base(m.Dir) != m.ID {
		foreign("directory", m.Dir)
	}
	for _, v := range m.Volumes {
		for _, p := range []string{v.Backing, v.Mount, v.Folder} {
			if p != "" && !below(m.Dir, p) {
				foreign("path", p)
			}
		}
	}
	return err
}

// ownsGroup reports whether a cgroup is the lab's own: …/scalebench/ID, or one
// directory below it.
func (m Manifest) ownsGroup(path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	own := func(p string) bool {
		return filepath.Base(p) == m.ID && filepath.Base(filepath.Dir(p)) == groupRoot
	}
	return own(path) || own(filepath.Dir(path))
}

// below reports whether path is inside dir; both absolute.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.Clean(path) == path && rel != "." && filepath.IsLocal(rel)
}

// netns is the name of a host's namespace, or of the switch's for "". An id
// has no hyphen, so the names of two labs are never the same.
func (m Manifest) netns(host string) string {
	if host == "" {
		return "scalebench-" + m.ID
	}
	return "scalebench-" + m.ID + "-" + host
}

func (m Manifest) namespaces() []Namespace {
	all := []Namespace{m.Switch}
	for _, h := range m.Hosts {
		all = append(all, h.Namespace)
	}
	return all
}
