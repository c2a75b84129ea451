package facts

import (
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/golden"
)

// machine is a test machine: the files of its kernel and its interfaces.
func machine(t *testing.T, name string) (fstest.MapFS, []Interface) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "machines", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files, interfaces := fstest.MapFS{}, []Interface(nil)
	for _, f := range archive.Files {
		if f.Name == "interfaces" {
			interfaces = parseInterfaces(t, string(f.Data))
			continue
		}
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return files, interfaces
}

// parseInterfaces reads lines of "name up|down address…".
func parseInterfaces(t *testing.T, text string) []Interface {
	t.Helper()
	var list []Interface
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		i := Interface{Name: f[0], Up: f[1] == "up"}
		for _, a := range f[2:] {
			i.Addresses = append(i.Addresses, netip.MustParseAddr(a))
		}
		list = append(list, i)
	}
	return list
}

// refuse is a client that fails the test on any request.
type refuse struct{ t *testing.T }

func (r refuse) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("request to %s, want none", req.URL)
	return nil, errors.New("refused by the test")
}

func refusing(t *testing.T) *http.Client {
	t.Helper()
	return &http.Client{Transport: refuse{t}}
}

// TestCollect compares the facts of each machine with its golden file.
func TestCollect(t *testing.T) {
	files, err := filepath.Glob("testdata/machines/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test machines: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			root, interfaces := machine(t, name)
			got, err := Collect(t.Context(), Options{
				Root:       root,
				Hostname:   "worker-1",
				Version:    "test",
				Interfaces: func() ([]Interface, error) { return interfaces, nil },
				Cloud:      CloudOptions{Base: unreachable},
			})
			if err != nil && !strings.Contains(err.Error(), unreachable) {
				t.Fatalf("Collect: %v", err)
			}
			got.Arch = "" // that of the machine that runs the test
			if got.OS == runtime.GOOS {
				got.OS = "runtime"
			}
			golden.JSON(t, filepath.Join("testdata", "machines", name+".json"), got)
		})
	}
}

// unreachable is where no metadata service is.
const unreachable = "http://127.0.0.1:1"

// TestCollectHere looks at the machine that runs the test.
func TestCollectHere(t *testing.T) {
	f, err := Collect(t.Context(), Options{Cloud: CloudOptions{Base: unreachable}})
	if err != nil && !strings.Contains(err.Error(), unreachable) {
		t.Fatalf("Collect: %v", err)
	}
	if f.Arch != runtime.GOARCH || f.Cores < 1 || f.Cores > runtime.NumCPU() {
		t.Errorf("Collect().Arch, Cores = %q, %d, want %q and 1 to %d", f.Arch, f.Cores, runtime.GOARCH, runtime.NumCPU())
	}
	if host, err := os.Hostname(); err == nil && f.Hostname != host {
		t.Errorf("Collect().Hostname = %q, want %q", f.Hostname, host)
	}
	if runtime.GOOS == "linux" && (f.Memory == 0 || f.Kernel == "" || f.OS == "") {
		t.Errorf("Collect() = %+v, want memory, kernel and system", f)
	}
	if id := NodeID(f, f.Hostname); id.Validate() != nil {
		t.Errorf("NodeID(here) = %q, want a valid id", id)
	}
}

func TestCollectEmptyMachine(t *testing.T) {
	none := errors.New("no interfaces today")
	f, err := Collect(t.Context(), Options{
		Root:       fstest.MapFS{},
		Hostname:   "h",
		Interfaces: func() ([]Interface, error) { return nil, none },
	})
	if !errors.Is(err, none) {
		t.Errorf("Collect: %v, want %v", err, none)
	}
	want := model.Facts{Hostname: "h", OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU()}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("Collect(nothing) (-want +got):\n%s", diff)
	}
}
