package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// builderProcess is a process that builds smallLab.
func builderProcess(cfg Config, message int) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", cfg.ID, strings.TrimSuffix(cfg.StateDir, "/state"), fmt.Sprint(message))
	cmd.Env = append(os.Environ(), helperEnv+"=up")
	return cmd
}

func TestKilledAtEachStep(t *testing.T) {
	needLab(t)
	whole := 0 // the message with which the lab is up
	for n := 1; whole == 0; n++ {
		cfg := smallLab(fmt.Sprintf("step%d", n), t.TempDir())
		out, err := builderProcess(cfg, n).CombinedOutput()
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("building, killed at message %d: %v\n%s", n, err, out)
		}
		left := remains(t, cfg)
		if len(left) == 0 {
			t.Errorf("killed at message %d: nothing is left, so this shows nothing", n)
		}
		if n > 30 {
			t.Fatalf("the lab is not up after %d messages; there is %v", n, left)
		}
		m, err := load(cfg.StateDir, cfg.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(processesOf(m)) > 0 {
			whole = n // services run: this was the last step
		}
		if err := Sweep(t.Context(), cfg.StateDir, cfg.VolumeDir, nil); err != nil {
			t.Errorf("Sweep after a kill at message %d = %v", n, err)
		}
		checkGone(t, cfg)
	}
	if whole < 10 {
		t.Errorf("the lab was up after %d messages, want more steps than that", whole)
	}
}

func TestKilledAnywhere(t *testing.T) {
	needLab(t)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 6 {
		cfg := smallLab(fmt.Sprintf("any%d", i), t.TempDir())
		cmd := builderProcess(cfg, 1000)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(random.IntN(250)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err := Sweep(t.Context(), cfg.StateDir, cfg.VolumeDir, nil); err != nil {
			t.Errorf("Sweep = %v", err)
		}
		// The directories themselves may never have been made.
		checkGone(t, cfg)
	}
}

// TestSweepUnplaced: a manifest that its writer was killed over goes, one that may be
// being written stays.
func TestSweepUnplaced(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	dead := self
	dead.Start--
	dir := t.TempDir()
	for name, of := range map[string]struct {
		owner *Owner
		age   time.Duration
		goes  bool
	}{"dead": {&dead, 0, true}, "alive": {&self, time.Hour, false}, "torn": {nil, 0, false}, "old": {nil, time.Hour, true}} {
		text := []byte("{")
		if of.owner != nil {
			m := Manifest{Version: manifestVersion, ID: name, Dir: "/volumes/" + name, Owner: *of.owner}
			m.Switch.Name = m.netns("")
			if text, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "."+name+manifestSuffix+".1")
		when := time.Now().Add(-of.age)
		if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
		if err := Sweep(t.Context(), dir, t.TempDir(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) != of.goes {
			t.Errorf("%s: after the sweep it is %v, want gone: %v", name, err, of.goes)
		}
	}
}

func TestSweepLeavesWhatIsWanted(t *testing.T) {
	mine := smallLab("mine", t.TempDir())
	l := up(t, mine)
	kept := smallLab("kept", "")
	kept.StateDir, kept.VolumeDir, kept.Keep = mine.StateDir, mine.VolumeDir, true
	kept.Owner = Owner{PID: 1, Start: 1, Boot: l.manifest.Owner.Boot, Space: l.manifest.Owner.Space} // a dead one
	k, err := Up(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	if k.Manifest().Owner.Alive() {
		t.Error("the owner of the kept lab is alive, want dead")
	}
	before := len(remains(t, mine)) + len(remains(t, kept))
	if err := Sweep(t.Context(), mine.StateDir, mine.VolumeDir, nil); err != nil {
		t.Error(err)
	}
	if after := len(remains(t, mine)) + len(remains(t, kept)); after != before {
		t.Errorf("Sweep removed something: %d things are there, want %d", after, before)
	}
	if _, err := Up(t.Context(), mine); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second lab of the same id = %v, want an error", err)
	}
	all, err := List(mine.StateDir, mine.VolumeDir)
	if err != nil || len(all) != 2 || all[0].ID != "kept" || all[1].ID != "mine" {
		t.Fatalf("List = %v, %v, want kept and mine", all, err)
	}
	again, err := Open(mine.StateDir, "kept")
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, again, "lab-1", Process{Args: []string{"cat", "/proc/self/cgroup"}}); !strings.Contains(got, "/scalebench/kept/lab-1") {
		t.Errorf("a process in the opened lab has cgroups\n%s\nwant /scalebench/kept/lab-1", got)
	}
	if err := Remove(t.Context(), all[0]); err != nil {
		t.Error(err)
	}
	if err := Remove(t.Context(), all[0]); err != nil {
		t.Errorf("the second Remove = %v, want nothing to do", err)
	}
	if err := k.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := Open(mine.StateDir, "kept"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("Open after Remove = %v, want not found", err)
	}
}

func TestRemoveLeavesWhatIsNotOurs(t *testing.T) {
	l := up(t, Config{ID: "foreign", Spec: Spec{Nodes: 1}})
	m := l.Manifest()
	m.Switch.Inode++ // as if another process had made one of that name
	if err := Remove(t.Context(), m); err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("Remove with another's namespace = %v, want it left alone", err)
	}
	if _, err := os.Stat(netnsDir + "/" + m.Switch.Name); err != nil {
		t.Error("the namespace is gone, want it left alone")
	}
	if _, err := os.Stat(m.Path); err != nil {
		t.Error("the manifest is gone although something is left")
	}
	m.Dir = "/etc"
	if err := Remove(t.Context(), m); err == nil || !strings.Contains(err.Error(), "does not belong") {
		t.Errorf("Remove with directory /etc = %v, want it refused", err)
	}
}

func TestUpFails(t *testing.T) {
	needLab(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	large := Spec{Nodes: 1, Volumes: []Volume{{Name: "v", Size: unit.TiB * 1000}}}
	for _, tt := range []struct {
		name string
		ctx  context.Context
		cfg  Config
		want string
	}{
		{"no room", t.Context(), Config{Spec: large}, "use smaller or fewer volumes"},
		{"cancelled", ended, Config{Spec: Spec{Nodes: 1}}, "context canceled"},
		{"service fails", t.Context(), Config{Spec: Spec{Nodes: 1},
			Services: []Service{{Name: "s", Command: "echo out; echo of order >&2; exit 3", Port: 80}}}, "exit status 3; it last printed:\n\tout\n\tof order"},
		{"service is deaf", t.Context(), Config{Spec: Spec{Nodes: 1}, Ready: 200 * time.Millisecond,
			Services: []Service{{Name: "s", Command: "exec sleep 60", Port: 80}}}, "make it listen on $SCALEBENCH_ADDRESS"},
		{"service lacks a variable", t.Context(), Config{Spec: Spec{Nodes: 1}, Environ: []string{},
			Services: []Service{{Name: "s", Command: "true", PassEnv: []string{"NO_SUCH_KEY"}}}}, "service s: pass_env names NO_SUCH_KEY"},
		{"bad specification", t.Context(), Config{}, "the lab has no nodes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.ID = "fails"
			tt.cfg.StateDir, tt.cfg.VolumeDir = t.TempDir(), t.TempDir()
			if _, err := Up(tt.ctx, tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Up = %v, want an error with %q", err, tt.want)
			}
			checkGone(t, tt.cfg)
		})
	}
}

// TestServiceEnds: of the server's environment a service sees what it names.
func TestServiceEnds(t *testing.T) {
	ends := make(chan error, 2)
	l := up(t, Config{ID: "ends", Spec: Spec{Nodes: 1},
		Environ: append(os.Environ(), "SHADE=dark", "SECRET=word"),
		Services: []Service{
			{Name: "waits", PassEnv: []string{"SHADE"}, Command: `echo "$SCALEBENCH_ADDRESS $SHADE $COLOUR$SECRET"; pwd; mkfifo go; read line < go; exit 7`, Environ: map[string]string{"COLOUR": "red"}},
			{Name: "stays", Command: "exec sleep 600"},
		},
		Ended: func(err error) { ends <- err },
	})
	dir := l.manifest.Dir + "/service/waits"
	output(t, l, "waits", Process{Args: []string{"sh", "-c", "until [ -p go ]; do :; done; echo now > go"}, Dir: dir})
	got := <-ends
	want := "service waits ended: exit status 7; it last printed:\n\t10.213.255.1 dark red\n\t" + dir
	if !strings.Contains(got.Error(), want) || !errors.Is(got, model.ErrUnavailable) {
		t.Errorf("Ended(%v), want %q", got, want)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if len(ends) > 0 {
		t.Errorf("Ended(%v) after Down, want none", <-ends)
	}
}

func TestCheckWithoutRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test gives its rights away, and has none")
	}
	got := asNobody(t, "check")
	for _, want := range []string{"true no lab is possible here", "network namespaces", "cgroups", "loop devices", "fleet: local"} {
		if !strings.Contains(got, want) {
			t.Errorf("Check as nobody = %q, want %q in it", got, want)
		}
	}
}

func TestOwner(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o, err := ownerOf(cmd.Process.Pid)
	if err != nil || !o.Alive() {
		t.Errorf("ownerOf = %+v, %v, want one that is alive", o, err)
	}
	other := o
	other.Start++
	if other.Alive() {
		t.Error("another process of the same id is alive, want dead")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if o.Alive() {
		t.Error("a killed process is alive")
	}
}
