package lab

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/unit"
)

// exampleManifest has one of everything.
func exampleManifest() Manifest {
	return Manifest{
		Version: manifestVersion, ID: "x7", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Owner: Owner{PID: 12, Start: 345, Boot: "b", Space: "pid:[1]"}, Keep: true,
		Hosts: []HostRecord{{
			Host: Host{Name: "lab-a-1", Group: "a", Address: "10.213.1.1",
				Limits: Limits{Link: mbit(200), CPU: 0.5, Memory: unit.GiB, Use: []string{"d"}}},
			Namespace: Namespace{Name: "scalebench-x7-lab-a-1", Inode: 4026532}, Port: "port0",
			Groups: []string{"/sys/fs/cgroup/scalebench/x7/lab-a-1"},
			Paths:  map[string]string{"d": "/v/x7/mount/d"},
		}, {
			Host:      Host{Name: "s", Address: "10.213.255.1", Service: &Service{Name: "s", Command: "run", Limits: Limits{CPU: 1}}},
			Namespace: Namespace{Name: "scalebench-x7-s"}, Port: "port1",
		}},
		Switch: Namespace{Name: "scalebench-x7", Inode: 5},
		Volumes: []VolumeRecord{{Volume: Volume{Name: "d", Type: Ext4, IOPS: 3}, Hosts: []string{"lab-a-1"},
			Backing: "/v/x7/backing/d.img", Mount: "/v/x7/mount/d", Device: "/dev/loop3"}},
		Cgroups: []string{"/sys/fs/cgroup/scalebench/x7", "/sys/fs/cgroup/scalebench/x7/lab-a-1"},
		Dir:     "/v/x7",
	}
}

func TestManifestRoundTrip(t *testing.T) {
	want := exampleManifest()
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseManifest: -want +got\n%s", diff)
	}
}

func TestParseManifestRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*Manifest)
		want string
	}{
		{"another version", func(m *Manifest) { m.Version++ }, "version"},
		{"an id that is a path", func(m *Manifest) { m.ID = "../etc" }, "lab id"},
		{"another lab's namespace", func(m *Manifest) { m.Switch.Name = "scalebench-x8" }, "namespace"},
		{"a namespace elsewhere", func(m *Manifest) { m.Hosts[0].Namespace.Name = "scalebench-x7-/../../x" }, "namespace"},
		{"the cgroup of all labs", func(m *Manifest) { m.Cgroups[0] = "/sys/fs/cgroup/scalebench" }, "cgroup"},
		{"another cgroup", func(m *Manifest) { m.Cgroups[0] = "/sys/fs/cgroup/system.slice" }, "cgroup"},
		{"another cgroup for a host", func(m *Manifest) { m.Hosts[0].Groups[0] = "/sys/fs/cgroup" }, "cgroup"},
		{"a cgroup by a detour", func(m *Manifest) { m.Cgroups[0] = "/sys/fs/cgroup/scalebench/x7/.." }, "cgroup"},
		{"another directory", func(m *Manifest) { m.Dir = "/home" }, "directory"},
		{"the top directory", func(m *Manifest) { m.Dir = "/" }, "directory"},
		{"a file elsewhere", func(m *Manifest) { m.Volumes[0].Backing = "/etc/passwd" }, "path"},
		{"a mount by a detour", func(m *Manifest) { m.Volumes[0].Mount = "/v/x7/../../home" }, "path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := exampleManifest()
			tt.edit(&m)
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseManifest(data); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseManifest = %v, want an error about its %s", err, tt.want)
			}
		})
	}
}

// FuzzParseManifest shows that whatever is read names only what belongs to the
// lab, and survives being written again.
func FuzzParseManifest(f *testing.F) {
	data, err := json.Marshal(exampleManifest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"id":"a","switch":{"name":"scalebench-a"},"dir":"/a"}`))
	f.Add([]byte(`{"version":1,"id":"a","dir":"/a/../a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		for _, path := range append([]string{m.Dir}, m.Cgroups...) {
			if !strings.Contains(path+"/", "/"+m.ID+"/") || strings.Contains(path, "..") {
				t.Errorf("ParseManifest accepts path %q for lab %q", path, m.ID)
			}
		}
		again, err := json.Marshal(m)
		if err != nil {
			return // a rate of an unknown kind cannot be written
		}
		if _, err := ParseManifest(again); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}
