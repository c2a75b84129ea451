package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/storetest"
)

// sly is what must not reach a terminal: a title, a cleared screen, a colour and
// an erased line as the program itself has them, marks that reorder text, C1
// controls. mark shows where it was printed. evil has also what no text has.
const (
	mark = "EVIL"
	sly  = "=\x1b]0;owned\x07\x1b[2J\x1b[33mEVIL\r\x1b[KEVIL\u202eEVIL\u009b2J"
	evil = sly + "\x00\xff\xe2\x82"
)

// own is what the program itself sends to a terminal: colours, and how it
// redraws a line.
var own = regexp.MustCompile("\x1b\\[(?:0|1|2|36|33|1;33)m|\r\x1b\\[K")

// steers is where a text would act on a terminal; -1 if it does not.
func steers(text string, terminal bool) int {
	i := strings.Index(text, "\x1b[33m"+mark)
	if i < 0 {
		i = strings.Index(text, "\r\x1b[K"+mark)
	}
	if i >= 0 {
		return i
	}
	if terminal {
		text = own.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	}
	return strings.IndexFunc(text, func(r rune) bool { return term.Unsafe(r) && r != '\n' && r != '\t' && r != '\ufffd' })
}

// hostileHome is a data directory, and files beside it, in which every text
// from outside is evil.
type hostileHome struct {
	t       *testing.T
	dir     string
	self    string
	environ []string
}

func newHostileHome(t *testing.T) hostileHome {
	t.Helper()
	self, err := exec.LookPath("scalebench") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	h := hostileHome{t: t, dir: t.TempDir(), self: self}
	h.environ = append(os.Environ(), "SCALEBENCH_DATA="+h.path("data"), "SCALEBENCH_TOKEN=", "TERM=xterm", "HOME="+h.dir)
	if err := os.Mkdir(h.path("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), h.path("data/scalebench.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i, study := range []string{"cdi", "resources"} {
		text, err := os.ReadFile("../study/" + study + "/testdata/run.json")
		if err != nil {
			t.Fatal(err)
		}
		var d model.RunData
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "01KJ2Q8Z", fmt.Sprintf("0%dKJ2Q8Z", i+1))), &d); err != nil {
			t.Fatal(err)
		}
		last := make(map[model.StepID]int)
		for _, s := range d.Steps {
			last[s.ID] = s.Attempt
		}
		d.Results = slices.DeleteFunc(d.Results, func(r model.Result) bool { return r.Attempt != last[r.Step] })
		poison(reflect.ValueOf(&d).Elem())
		storetest.Save(t, st, d)
		for _, n := range d.Nodes {
			if err := st.PutNode(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return h
}

// poison makes every text of a run evil, except for words that the program
// itself chooses.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains([]string{"Kind", "Study", "Resource", "Source", "Host", "BootID", "Encoded"}, f.Name) {
				poison(v.Field(i))
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			poison(e)
			v.SetMapIndex(k, e)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() || v.Type() == reflect.TypeFor[model.NodeID]() {
			v.SetString(v.String() + evil)
		}
	}
}

func (h hostileHome) path(name string) string { return filepath.Join(h.dir, name) }

func (h hostileHome) write(name, text string) string {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

// run runs a command with these streams and returns what came out of each.
func (h hostileHome) run(terminal bool, args ...string) (stdout, stderr string) {
	h.t.Helper()
	open := pipe
	if terminal {
		open = pty
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		h.t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // read only
	out, readOut := open(h.t)
	errs, readErr := open(h.t)
	e := Env{Args: args, Environ: h.environ, Self: h.self}
	e.connect(in, out, errs)
	if e.Terminal != terminal || e.Live != terminal {
		h.t.Fatalf("the streams are a terminal: %v, %v; want %v", e.Terminal, e.Live, terminal)
	}
	Main(e)
	return readOut(), readErr()
}

// pipe returns the end to write to, and what is read after that was closed.
func pipe(t *testing.T) (*os.File, func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return w, drain(t, r, w)
}

// pty returns a terminal of 90 columns that passes on what it gets as it is.
func pty(t *testing.T) (*os.File, func() string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(err)
	fd := int(master.Fd())
	must(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must(err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(err)
	must(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 90}))
	settings, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	must(err)
	settings.Oflag &^= unix.OPOST
	settings.Lflag &^= unix.ECHO
	must(unix.IoctlSetTermios(fd, unix.TCSETS, settings))
	return slave, drain(t, master, slave)
}

// drain reads all that is written to w, until the function that it returns has
// closed it.
func drain(t *testing.T, r, w *os.File) func() string {
	t.Helper()
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		text, err := io.ReadAll(r)
		done <- read{text, err}
	}()
	return func() string {
		t.Helper()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		got := <-done
		if got.err != nil && !errors.Is(got.err, syscall.EIO) { // the end of a terminal
			t.Error(got.err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		return string(got.text)
	}
}

// check runs a command on a terminal and with pipes. Unless it is quiet, it
// must have shown some of what is evil, for otherwise nothing was tried.
func (h hostileHome) check(quiet bool, args ...string) {
	h.t.Helper()
	shown := false
	for _, terminal := range []bool{true, false} {
		stdout, stderr := h.run(terminal, args...)
		for name, text := range map[string]string{"standard output": stdout, "standard error": stderr} {
			if i := steers(text, terminal || slices.Contains(args, "always")); i >= 0 {
				h.t.Errorf("scalebench %q, terminal %v: %s has %q", args, terminal, name, text[max(0, i-60):min(len(text), i+60)])
			}
			shown = shown || strings.Contains(strings.ToUpper(text), mark)
		}
		if !quiet && !shown {
			h.t.Errorf("scalebench %q, terminal %v: shows nothing of what is evil: %q, %q", args, terminal, stdout, stderr)
		}
	}
}

// TestNothingSteersATerminal runs every command with texts that would: in what
// is stored, in files, in answers of servers and on the command line.
func TestNothingSteersATerminal(t *testing.T) {
	skip.IfShort(t)
	t.Parallel()
	h := newHostileHome(t)
	h.stored()
	h.files()
	h.words()
	h.running()
}

// stored are commands that show what is stored.
func (h hostileHome) stored() {
	const cdi, resources = "01KJ2Q8Z7V3N5XW9T4B6C8D0EF", "02KJ2Q8Z7V3N5XW9T4B6C8D0EF"
	for _, args := range [][]string{
		{"runs", "--wide"}, {"nodes", "--wide"}, {"show", cdi}, {"show", resources}, {"cdi", cdi}, {"cdi", resources}, {"resources", resources},
		{"plan", resources, "--target", "100/s", "--node-rate", "1/s", "--demand", "cpu" + evil + "/rate" + evil + "=1"},
	} {
		for _, format := range []string{"text", "json", "csv"} {
			h.check(args[0] == "plan", append(args, "--format", format)...)
		}
		h.check(args[0] == "plan", append(args, "-v", "--color", "always")...)
	}
	for _, args := range [][]string{
		{"export", cdi}, {"export", cdi, "--format", "csv"}, {"report", cdi, "-o", "-"}, {"logs", "nowhere" + evil},
		{"logs", cdi, "--node", evil}, {"delete", cdi}, {"resume", cdi}, {"runs", "--limit", evil},
	} {
		h.check(args[0] == "resume", args...)
	}
	for _, ending := range []string{"html", "md", "svg", "json", "csv", "txt"} {
		path := h.path("report." + ending)
		h.check(true, "report", cdi, "-o", path)
		text, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		if i := steers(string(text), false); i >= 0 {
			h.t.Errorf("%s has %q", path, text[max(0, i-60):min(len(text), i+60)])
		}
	}
}

// yamlEvil and jsonEvil are evil as files quote it.
const yamlEvil = `\e]0;owned\a\e[2J\e[33mEVIL\r\e[KEVIL\u202eEVIL\u009b2J`

// files are commands that read files.
func (h hostileHome) files() {
	quoted, err := json.Marshal(sly)
	if err != nil {
		h.t.Fatal(err)
	}
	evilJSON := string(quoted[1 : len(quoted)-1])
	for i, text := range []string{
		"name: \"" + yamlEvil + "\"\n", yamlEvil + ": 1\n", "\"" + yamlEvil + "\": 1\n",
		"workloads: [{kind: \"" + yamlEvil + "\"}]\n", "workloads: [{kind: cpu, name: \"" + yamlEvil + "\", duration: \"" + yamlEvil + "\"}]\n",
		"fleet: {lab: {groups: [{\"" + yamlEvil + "\": 1}]}}\nworkloads: [{kind: cpu}]\n",
		"workloads: [{kind: command, command: \"true\", metrics: [{name: \"" + yamlEvil + "\", regex: \"" + yamlEvil + "(\"}]}]\n",
	} {
		path := h.write(fmt.Sprintf("bad%d.yaml", i), text)
		h.check(false, "validate", path)
		h.check(false, "run", path, "--dry-run")
	}
	for i, text := range []string{
		`{"` + evilJSON + `": 1}`, `{"jobName": "` + evilJSON + `", "jobs": [{"node": "` + evilJSON + `", "path": "` + evilJSON + `", "command": ""}]}`,
		`{"jobName": "` + evilJSON + `", "jobs": [{"node": "*", "path": "` + evilJSON + `", "command": "` + evilJSON + `"}]}`,
	} {
		path := h.write(fmt.Sprintf("bad%d.json", i), text)
		h.check(i == 2, "validate", path)
		h.check(i == 2, "submit", path)
	}
	const cell = "EVIL\x1b[2J\u202e\u009b2J"
	for i, text := range []string{
		"node,phase,value\nn1,serial," + cell + "\n", "node," + cell + ",value\nn1,serial,1\n", "node,phase,value\nn1," + cell + ",1\n",
		"workload,metric,unit,node,serial,parallel\n=" + cell + ",m" + cell + ",u" + cell + ",n1" + cell + ",5,4\n=" + cell + ",m" + cell + ",u" + cell + ",n2" + cell + ",5,4\n",
	} {
		path := h.write(fmt.Sprintf("numbers%d.csv", i), text)
		for _, format := range []string{"text", "json", "csv"} {
			h.check(false, "cdi", "--csv", path, "--format", format)
			h.check(false, "plan", "--csv", path, "--format", format, "--target", "100/s", "--node-rate", "1/s", "--demand", "="+cell+"/m"+cell+"=1")
		}
	}
	named := h.write("EVIL\x1b[2J\u202e\xff.yaml", "workloads: [{kind: nothing}]\n")
	h.check(false, "validate", named)
	h.check(false, "run", named, "--dry-run")
	h.check(false, "cdi", "--csv", named)
	h.check(false, "lab", "up", named)
	h.check(false, "submit", named)
	good := h.write("good.yaml", "name: \"a EVIL name\"\nworkloads: [{kind: cpu}]\n")
	h.check(false, "run", good, "--dry-run", "--set", "name="+evil)
	h.check(false, "run", good, "--dry-run", "--set", evil+"=1")
	h.check(false, "run", good, "--dry-run", "--set", evil)
}

// words are commands with evil words, and with servers that answer so.
func (h hostileHome) words() {
	for _, args := range [][]string{
		{evil}, {"help", evil}, {"show", evil}, {"cdi", evil}, {"resources", evil}, {"plan", evil, "--target", "1/s"}, {"plan", "--target", sly},
		{"runs", "--" + evil}, {"runs", "--format", evil}, {"runs", "--color", evil}, {"runs", evil}, {"runs", "--store", evil + "://"},
		{"runs", "--store", "sqlite://" + h.dir + "/" + evil}, {"runs", "--server", evil}, {"runs", "--server", "nats://127.0.0.1:1/" + evil},
		{"runs", "--data", "/proc/" + evil}, {"run", evil}, {"validate", evil}, {"submit", evil}, {"cancel", evil}, {"resume", evil},
		{"delete", evil, "--yes"}, {"export", evil}, {"logs", evil}, {"report", evil}, {"report", "latest", "-o", evil}, {"report", "latest", "-o", "/proc/nowhere/" + evil + ".html"},
		{"export", "latest", "--format", evil}, {"token", "--ttl", evil}, {"lab", evil},
		{"agent", "--label", evil}, {"schema", evil}, {"version", evil}, {"server", "--listen", evil},
		{"cdi", "--csv", evil}, {"plan", "--capacity", sly, "--target", "1/s"}, {"plan", "--capacity", "cpu=" + sly, "--target", "1/s"},
		{"capacity", evil, "--sla", "p90=1s"}, {"capacity", "http://127.0.0.1:1/" + evil, "--sla", "p90=1s"}, {"capacity", "http://127.0.0.1:1/", "--sla", sly},
		{"capacity", "http://127.0.0.1:1/", "--sla", "p90=1s", "--mix", sly},
	} {
		h.check(false, args...)
	}
	for _, args := range [][]string{ // that need not repeat what they do not take
		{"show", "latest", evil}, {"runs", "--token", "@" + evil}, {"agent", "--server", "nats://127.0.0.1:1", "--token", evil}, {"nodes", "--remove", evil},
		{"lab", "down", evil}, {"lab", "exec", evil, "--", evil}, {"lab", "list"}, {"completion", evil}, {"demo", evil}, {"capacity", "http://127.0.0.1:1/", "--sla", "p90=1s", "-H", "x" + sly},
	} {
		h.check(true, args...)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 500 "+evil+"\r\nLocation: http://"+evil+"/\r\nContent-Type: "+evil+"\r\nContent-Length: 4\r\n\r\nEVIL")
		_ = c.Close()
	}))
	defer server.Close()
	h.check(true, "capacity", server.URL, "--sla", "p90=1s")
	garbage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(c, evil+"\r\n\r\n")
			_ = c.Close()
		}
	}))
	defer garbage.Close()
	h.check(true, "capacity", garbage.URL, "--sla", "p90=1s")
}

// running is a run of a program that prints what steers a terminal, and fails.
// A pipe gets what it printed as it is, a terminal only if that is asked for.
func (h hostileHome) running() {
	const printed = "EVIL\x1b[2J\x00\xff\r\n"
	path := h.write("prints.yaml", `{name: x, fleet: {local: {nodes: 1}}, evaluations: [serial], trials: 1, workloads: [{kind: command, command:
  "printf 'EVIL\\033[2J\\000\\377\\r\\n'; printf 'EVIL\\033[2J\\000\\377\\r\\n' >&2; printf 'EVIL\\033]0;x\\007' >&2; exit 3"}]}`)
	_, stderr := h.run(true, "run", path)
	if i := steers(stderr, true); i >= 0 || !strings.Contains(stderr, mark) {
		h.t.Errorf("run: standard error is %q; want the output of the program, and nothing that steers", stderr)
	}
	h.check(false, "show", "latest")
	for _, c := range []struct {
		terminal, raw bool
		args          []string
	}{{true, false, nil}, {true, true, []string{"--raw"}}, {false, true, nil}, {false, true, []string{"--raw"}}} {
		stdout, _ := h.run(c.terminal, append([]string{"logs", "latest"}, c.args...)...)
		want := `EVIL\x1b[2J\x00\xff` + "\n"
		if c.raw {
			want = printed
		}
		if !strings.HasSuffix(stdout, "<==\n"+want) {
			h.t.Errorf("logs %v on a terminal %v: %q, want %q", c.args, c.terminal, stdout, want)
		}
	}
}

// TestDumbTerminal: a terminal that takes no escape sequences gets none, neither
// colours nor lines that are redrawn.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	h := newHostileHome(t)
	run := h.write("e.yaml", "fleet: {local: {nodes: 1}}\nevaluations: [serial]\nworkloads: [{kind: command, command: sleep 1}]\n")
	for _, kind := range []string{"TERM=dumb", "TERM="} {
		out, readOut := pty(t)
		e := Env{Args: []string{"run", run}, Environ: append(h.environ, kind), Self: h.self}
		e.connect(out, out, out)
		if !e.Terminal || e.Live {
			t.Fatalf("%s: terminal %v, redrawn %v; want one that is not redrawn", kind, e.Terminal, e.Live)
		}
		Main(e)
		if text := readOut(); strings.Contains(text, "\x1b") || !strings.Contains(text, "[1/1]") {
			t.Errorf("%s: %q", kind, text)
		}
	}
}
