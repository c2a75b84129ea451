package lab

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// fakeV2 makes directories that look like a hierarchy of cgroup v2. A plain
// directory has no files of its own accord, so they are made with it; what
// cannot be shown here is that the kernel acts upon them.
func fakeV2(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			"cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma", "cgroup.subtree_control": "", "cgroup.procs": "",
			"cpu.max": "", "memory.max": "", "memory.swap.max": "", "io.max": "",
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// locate finds the groups of a lab by the texts of a process.
func locate(mountinfo, own string) (groups, error) {
	v1, v2 := cgroup.Find(mountinfo, own, controllersV1...)
	return choose("x7", v1, v2)
}

func TestV2(t *testing.T) {
	top := t.TempDir()
	fakeV2(t, top)
	mounts := fmt.Sprintf("29 22 0:26 / %s rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n", top)
	g, err := locate(mounts, "0::/user.slice/session-1.scope\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cpu", "memory", "io"}, g.lacking()); diff != "" {
		t.Errorf("controllers that a lab switches on: -want +got\n%s", diff)
	}
	lab, host := filepath.Join(top, "scalebench/x7"), filepath.Join(top, "scalebench/x7/lab-1")
	h := HostRecord{Host: Host{Name: "lab-1", Limits: Limits{CPU: 1.5, Memory: 64 * unit.MiB}}}
	if diff := cmp.Diff([]string{lab, host}, g.all([]HostRecord{h})); diff != "" {
		t.Fatalf("groups: -want +got\n%s", diff)
	}
	// The kernel puts files into a new directory; here the test does.
	fakeV2(t, filepath.Dir(lab))
	if err := g.make([]string{lab}); err != nil {
		t.Fatal(err)
	}
	fakeV2(t, lab)
	if err := g.make([]string{host}); err != nil {
		t.Fatal(err)
	}
	fakeV2(t, host)
	if err := g.limit(h.Host); err != nil {
		t.Fatal(err)
	}
	if err := g.limitDevice("7:3", model.VolumeLevel{IOPS: 300, Bandwidth: 60 << 20}); err != nil {
		t.Fatal(err)
	}
	want := model.VolumeLevel{IOPS: 300, Bandwidth: 60 << 20}
	read, write, none := g.limitsOf("7:3", "read"), g.limitsOf("7:3", "write"), g.limitsOf("7:33", "read")
	if read != want || write != want || none != (model.VolumeLevel{}) {
		t.Errorf("limits of reads %v, of writes %v, of another device %v; want %v and none", read, write, none, want)
	}
	for path, want := range map[string]string{
		top + "/cgroup.subtree_control":               "+cpu +memory +io",
		filepath.Dir(lab) + "/cgroup.subtree_control": "+cpu +memory +io",
		lab + "/cgroup.subtree_control":               "+cpu +memory +io",
		lab + "/io.max":                               "7:3 rbps=62914560 wbps=62914560 riops=300 wiops=300",
		host + "/cgroup.subtree_control":              "", // it has processes
		host + "/cpu.max":                             "150000 100000",
		host + "/memory.max":                          "67108864",
		host + "/memory.swap.max":                     "0",
	} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s has %q, want %q", strings.TrimPrefix(path, top), got, want)
		}
	}
	cgroup.Unlimit(lab, []string{"7:3"})
	if got, _ := os.ReadFile(lab + "/io.max"); !strings.HasPrefix(string(got), "7:3 rbps=max wbps=max riops=max wiops=max") {
		t.Errorf("io.max after Unlimit has %q, want max", got)
	}
}

// snapshot reads a tree: files with their text and time of change.
func snapshot(t *testing.T, top string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(path) // a directory has none
		files[path] = info.ModTime().String() + string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestLooksOnly: finding out whether labs can be made changes nothing, whatever
// the answer.
func TestLooksOnly(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // of the error; empty: none
	}{
		{"the root", map[string]string{"cgroup.procs": "1\n2\n"}, ""},
		{"delegated and empty", map[string]string{"cgroup.type": "domain\n"}, ""},
		{"everything on", map[string]string{"cgroup.type": "domain\n", "cgroup.subtree_control": "cpu io memory pids\n"}, ""},
		{"with processes", map[string]string{"cgroup.type": "domain\n", "cgroup.procs": "17\n"}, "contains processes"},
		{"of threads", map[string]string{"cgroup.type": "threaded\n"}, `type is "threaded"`},
		{"a controller lacks", map[string]string{"cgroup.controllers": "cpu memory\n"}, "no controller io"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			fakeV2(t, top)
			for file, text := range tt.files {
				if err := os.WriteFile(filepath.Join(top, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, top)
			_, err := locate(fmt.Sprintf("29 22 0:26 / %s rw - cgroup2 cgroup2 rw\n", top), "0::/\n")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("locate = %v, want %q", err, tt.want)
			}
			if diff := cmp.Diff(before, snapshot(t, top)); diff != "" {
				t.Errorf("looking changed something: -before +after\n%s", diff)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	// TempDirs stand for mount points; what is delegated exists below them.
	cpu, memory, blkio := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.MkdirAll(memory+"/box/own", 0o755); err != nil {
		t.Fatal(err)
	}
	v1 := fmt.Sprintf(`30 22 0:27 / %s rw - cgroup cgroup rw,cpu,cpuacct
31 22 0:28 / %s rw - cgroup cgroup rw,memory
32 22 0:29 /docker/abc %s rw - cgroup cgroup rw,blkio
`, cpu, memory, blkio)
	own := "3:cpu,cpuacct:/not/seen/from/here\n2:memory:/box/own\n1:blkio:/docker/abc\n0::/\n"
	g, err := locate(v1, own)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"cpu": cpu, "cpuacct": cpu, "memory": memory + "/box/own", "blkio": blkio}
	if diff := cmp.Diff(want, g.V1); diff != "" {
		t.Errorf("hierarchies: -want +got\n%s", diff)
	}
	if got := len(g.host("h")); got != 3 {
		t.Errorf("a process is put into %d groups, want 3: cpu and cpuacct are one", got)
	}
	for name, mounts := range map[string]string{
		"nothing mounted":    "",
		"a controller lacks": strings.SplitAfter(v1, "\n")[0],
		"v2 without any":     fmt.Sprintf("29 22 0:26 / %s rw - cgroup2 cgroup2 rw\n", t.TempDir()),
	} {
		if _, err := locate(mounts, own); err == nil {
			t.Errorf("%s: locate succeeded, want an error", name)
		}
	}
}
