package peers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The processors of server and generators. A machine needs two.
const serverCore, generatorCore = 0, 1

// box is what a generator runs in: one processor, and a note at its end of how
// much memory it had.
type box struct{ note string }

func newBox(t *testing.T) box {
	t.Helper()
	return box{filepath.Join(t.TempDir(), "memory")}
}

// command is the generator's, in the box. GNU time asks the kernel for the
// memory: it is a small program itself, and the most that a process had counts
// from what started it.
func (b box) command(argv ...string) []string {
	return append([]string{"taskset", "--cpu-list", strconv.Itoa(generatorCore), "time", "--format", "%M", "--output", b.note}, argv...)
}

// memory is the most that was resident, in bytes. The generator has ended.
func (b box) memory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(b.note)
	if err != nil {
		t.Fatal(err)
	}
	// Before it may be a line on how the process ended.
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	kilobytes, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// tool is a generator that prints what it did.
type tool struct {
	name    string
	loads   func(rate float64) bool // whether it can be asked for it
	command func(*testing.T, job) []string
	read    func([]byte, job) (outcome, error)
}

func (x tool) title() string            { return x.name }
func (x tool) offers(rate float64) bool { return x.loads(rate) }

func (x tool) run(t *testing.T, j job) outcome {
	t.Helper()
	b := newBox(t)
	argv := b.command(x.command(t, j)...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	o, err := x.read(stdout.Bytes(), j)
	if err != nil {
		t.Fatalf("%s: %v; it printed\n%s", cmd, err, stdout.Bytes())
	}
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	o.memory = b.memory(t)
	return o
}

// pin lets a server that has one thread use its processor only.
func pin(t *testing.T, pid int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "taskset", "--pid", "--cpu-list", strconv.Itoa(serverCore), strconv.Itoa(pid))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// need fails where a program is missing.
func need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v; `make bench-load` installs it", err)
		}
	}
}
