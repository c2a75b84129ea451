package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/expression"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// points are the readings of all counters, as words.
func points(r *workloadtest.Record) []string {
	var out []string
	for _, metric := range slices.Sorted(maps.Keys(r.Readings)) {
		for _, x := range r.Readings[metric] {
			out = append(out, fmt.Sprintf("%s %v %s", metric, x.Value, r.Units[metric]))
		}
	}
	return out
}

// ran is a finished run.
type ran struct {
	workloadtest.Record

	stdout, stderr bytes.Buffer
	err            error
}

// run decodes parameters as the runner does and runs the command.
func run(ctx context.Context, t *testing.T, params string) *ran {
	t.Helper()
	w := workloadtest.Parse(t, Kind(), params)
	if err := w.Validate(); err != nil {
		t.Fatalf("Validate(%s) = %v", params, err)
	}
	r := &ran{}
	r.T = t
	env := &workload.Env{Environ: os.Environ(), Stdout: &r.stdout, Stderr: &r.stderr, Report: &r.Record}
	if r.err = w.Prepare(ctx, env); r.err == nil {
		r.err = w.Run(ctx, env)
	}
	return r
}

func TestMetrics(t *testing.T) {
	// Below a file there never is a directory: not on a machine where somebody made /nonexistent either.
	const missing = "/dev/null/missing"
	tests := []struct {
		name, params string
		want         map[string]float64
		err          string // part of it; "" for none
	}{
		{"none", `{"command": "true"}`, nil, ""},
		{"number", `{"command": "echo 42.5", "metrics": [{"name": "m", "number": true}]}`, map[string]float64{"m": 42.5}, ""},
		{"number from stderr", `{"command": "echo no; echo 1e3 >&2", "metrics": [{"name": "m", "number": true, "from": "stderr"}]}`, map[string]float64{"m": 1000}, ""},
		{"json", `{"command": "echo '{\"a\":{\"b\":[{\"c\":7}]}}'", "metrics": [{"name": "m", "json": ".a.b[0].c"}]}`, map[string]float64{"m": 7}, ""},
		{"json in the last line", `{"command": "echo log; echo '{\"a\":1}'; echo '{\"a\":2}'", "metrics": [{"name": "m", "json": ".a"}]}`, map[string]float64{"m": 2}, ""},
		{"json computed", `{"command": "echo '[1,2,3]'", "metrics": [{"name": "m", "json": "add * 2"}]}`, map[string]float64{"m": 12}, ""},
		{"json quoted number", `{"command": "echo '{\"a\":\"1.5\"}'", "metrics": [{"name": "m", "json": ".a"}]}`, map[string]float64{"m": 1.5}, ""},
		{"last match", `{"command": "echo rate 1; echo rate 2", "metrics": [{"name": "m", "regex": "rate ([0-9]+)"}]}`, map[string]float64{"m": 2}, ""},
		{"several", `{"command": "echo a 1 b 2", "metrics": [{"name": "a", "regex": "a ([0-9])"}, {"name": "b", "regex": "b ([0-9])"}]}`, map[string]float64{"a": 1, "b": 2}, ""},
		{"shell", `{"command": "cd / && echo ~ | wc -l && ls -d * | grep -c tmp", "metrics": [{"name": "m", "regex": "([0-9]+)"}]}`, map[string]float64{"m": 1}, ""},
		{"path", `{"command": "echo $PATH | tr -cd : | wc -c", "path": "/usr/bin:/bin:/sbin", "metrics": [{"name": "m", "number": true}]}`, map[string]float64{"m": 2}, ""},
		{"env", `{"command": "echo $WIDTH", "env": {"WIDTH": "12"}, "metrics": [{"name": "m", "number": true}]}`, map[string]float64{"m": 12}, ""},
		{"dir", `{"command": "test $(pwd) = / && echo 1", "dir": "/", "metrics": [{"name": "m", "number": true}]}`, map[string]float64{"m": 1}, ""},
		{"shell chosen", `{"command": "a=(5 6); echo ${a[1]}", "shell": "/bin/bash", "metrics": [{"name": "m", "number": true}]}`, map[string]float64{"m": 6}, ""},

		{"fails", `{"command": "echo 1; echo sorry >&2; exit 3", "metrics": [{"name": "m", "number": true}]}`, nil, `exit status 3; its output begins: "sorry\n"`},
		{"killed", `{"command": "kill -9 $$"}`, nil, "signal: killed"},
		{"no match", `{"command": "echo hello", "metrics": [{"name": "m", "regex": "rate ([0-9]+)"}]}`, nil, `metric m: looking for regex rate ([0-9]+) in stdout: no match; the output begins: "hello\n"`},
		{"no output", `{"command": "true", "metrics": [{"name": "m", "number": true}]}`, nil, "nothing was printed"},
		{"no number", `{"command": "echo 1,234.5", "metrics": [{"name": "m", "number": true}]}`, nil, `"1,234.5" is not a number`},
		{"not finite", `{"command": "echo inf", "metrics": [{"name": "m", "number": true}]}`, nil, "not a number"},
		{"too large", `{"command": "echo 1e999", "metrics": [{"name": "m", "number": true}]}`, nil, "out of range"},
		{"hexadecimal", `{"command": "echo 0x10", "metrics": [{"name": "m", "number": true}]}`, nil, "not a number"},
		{"json null", `{"command": "echo {}", "metrics": [{"name": "m", "json": ".a"}]}`, nil, "the expression gives null"},
		{"json object", `{"command": "echo {}", "metrics": [{"name": "m", "json": "."}]}`, nil, "gives object"},
		{"json two values", `{"command": "echo '[1,2]'", "metrics": [{"name": "m", "json": ".[]"}]}`, nil, "more than one value"},
		{"json nothing", `{"command": "echo '[]'", "metrics": [{"name": "m", "json": ".[]"}]}`, nil, "gives nothing"},
		{"json not at all", `{"command": "echo hello", "metrics": [{"name": "m", "json": ".a"}]}`, nil, "neither the output nor its last line is a JSON document"},
		{"no directory", `{"command": "true", "dir": "` + missing + `"}`, nil, missing},
		{"no variable", `{"command": "true", "pass_env": ["PATH", "NO_SUCH_KEY"]}`, nil, "pass_env names NO_SUCH_KEY, which the agent's environment lacks"},
		{"no shell", `{"command": "true", "shell": "` + missing + `"}`, nil, missing},
		{"unknown command", `{"command": "nonexistent-command"}`, nil, "exit status 127"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t.Context(), t, tt.params)
			if tt.err == "" && r.err != nil || tt.err != "" && (r.err == nil || !strings.Contains(r.err.Error(), tt.err)) {
				t.Fatalf("error = %v, want %q", r.err, tt.err)
			}
			got := r.Values(Elapsed)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func TestElapsedAndExitCode(t *testing.T) {
	r := run(t.Context(), t, `{"command": "sleep 0.2; printf done"}`)
	if r.err != nil || len(r.Samples) != 1 {
		t.Fatalf("run = %v, samples %v; want one", r.err, r.Samples)
	}
	s := r.Samples[0]
	if s.Metric != Elapsed || s.Unit != "s" || s.Better != model.Lower || s.Value < 0.2 || s.Value > 20 {
		t.Errorf("sample = %+v, want elapsed of some 0.2 s", s)
	}
	if diff := cmp.Diff([]int{0}, r.ExitCodes); diff != "" || r.stdout.String() != "done" {
		t.Errorf("exit codes %v, stdout %q; want 0 and done", r.ExitCodes, r.stdout.String())
	}
	if r := run(t.Context(), t, `{"command": "exit 9"}`); len(r.ExitCodes) != 1 || r.ExitCodes[0] != 9 || len(r.Samples) != 0 {
		t.Errorf("exit codes %v, samples %v; want 9 and none", r.ExitCodes, r.Samples)
	}
}

// TestBackground checks that what a command leaves running neither holds the
// run up nor counts as time.
func TestBackground(t *testing.T) {
	begin := time.Now()
	r := run(t.Context(), t, `{"command": "sleep 5 & echo 3", "metrics": [{"name": "m", "number": true}]}`)
	if r.err != nil || r.Values(Elapsed)["m"] != 3 {
		t.Fatalf("run = %v, %v; want 3", r.err, r.Samples)
	}
	if d := time.Since(begin); d > 4500*time.Millisecond || r.Samples[0].Value > 4.5 {
		t.Errorf("took %v, elapsed %v; want no waiting for the background", d, r.Samples[0].Value)
	}
}

func TestHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if r := run(t.Context(), t, `{"command": "pwd", "dir": "~"}`); r.err != nil || r.stdout.String() != home+"\n" {
		t.Errorf("pwd in ~ = %q, %v; want %s", r.stdout.String(), r.err, home)
	}
	p := &Params{Dir: "~/x"}
	if _, err := p.directory(nil); err == nil {
		t.Error("directory() without HOME = nil, want an error")
	}
}

// TestMetricAtTheEnd checks that a metric is found after more output than is
// kept, and that the result gets all of it.
func TestMetricAtTheEnd(t *testing.T) {
	r := run(t.Context(), t, `{"command": "echo head 1; yes 'noise 123456789' | head -c 40000000; echo; echo tail 2", "metrics": [{"name": "a", "regex": "head ([0-9]+)"}, {"name": "b", "regex": "tail ([0-9]+)"}]}`)
	if diff := cmp.Diff(map[string]float64{"a": 1, "b": 2}, r.Values(Elapsed)); diff != "" || r.err != nil {
		t.Errorf("samples (-want +got), error %v:\n%s", r.err, diff)
	}
	if want := len("head 1\n") + 40000000 + len("\ntail 2\n"); r.stdout.Len() != want {
		t.Errorf("stdout has %d bytes, want %d", r.stdout.Len(), want)
	}
}

func TestKeeper(t *testing.T) {
	tests := []struct {
		name   string
		writes []string
		want   string
	}{
		{"nothing", nil, ""},
		{"short", []string{"ab\n", "c"}, "ab\nc"},
		{"exactly full", []string{"12345678", "12345678"}, "1234567812345678"},
		{"more than head and tail", []string{"1234\n678", "abcde\ngh", "ABCDE\nGH", "xyz\n"}, "1234\n" + gap + "GHxyz\n"},
		{"one long line", []string{strings.Repeat("9", 100)}, gap + strings.Repeat("9", 8)},
	}
	for _, tt := range tests {
		k := &keeper{half: 8}
		for _, w := range tt.writes {
			if n, err := k.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: Write = %d, %v", tt.name, n, err)
			}
		}
		if got := string(k.text()); got != tt.want {
			t.Errorf("%s: text() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestProgress(t *testing.T) {
	for name, source := range map[string]string{
		"regex": `"regex": "done ([0-9]+)"`,
		"json":  `"json": ".done"`,
	} {
		line := map[string]string{"regex": "done %d", "json": `{\"done\":%d}`}[name]
		r := run(t.Context(), t, fmt.Sprintf(`{"command": "for i in 1 2 3; do printf '%s\n' $i; echo other; done; echo 3",
			"metrics": [{"name": "files", "regex": "([0-9]+)"}], "progress": {"unit": "op", %s}}`, strings.ReplaceAll(line, "\n", ""), source))
		if diff := cmp.Diff([]string{"files 0 op", "files 1 op", "files 2 op", "files 3 op"}, points(&r.Record)); diff != "" || r.err != nil {
			t.Errorf("%s: progress (-want +got), error %v:\n%s", name, r.err, diff)
		}
	}
}

// TestProgressIsLive checks that points come while the command runs: it waits
// for the test after each line.
func TestProgressIsLive(t *testing.T) {
	fifo := t.TempDir() + "/go"
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	w := &Params{Shell: "/bin/sh", Command: "echo 1; read x < " + fifo + "; echo 2",
		Metrics: []Metric{{Name: "m", Regex: "([0-9])"}}, Progress: &Progress{Unit: "op", Regex: "([0-9])"}}
	seen := make(chan struct{})
	r := &workloadtest.Record{T: t, Seen: func(string, float64) { seen <- struct{}{} }}
	done := make(chan error, 1)
	go func() {
		done <- w.Run(t.Context(), &workload.Env{Environ: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Report: r})
	}()
	<-seen // 0
	<-seen // 1: the command waits now
	if err := os.WriteFile(fifo, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-seen // 2
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestProgressLongLine(t *testing.T) {
	r := &workloadtest.Record{} // which holds counters to nothing: the runner refuses one that goes down
	p := &Params{Metrics: []Metric{{Name: "m"}}, Progress: &Progress{Unit: "op", Regex: "([0-9]+)"}}
	g := p.progressLines(t.Context(), r)
	for _, s := range []string{"1", "2\n", strings.Repeat("7", 64<<10+1), "\n3\n4"} {
		if _, err := g.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"m 12 op", "m 3 op"}, points(r)); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if r := run(ctx, t, `{"command": "exec sleep 20"}`); !errors.Is(r.err, context.DeadlineExceeded) || len(r.Samples) > 0 {
		t.Errorf("run = %v, samples %v; want the end of the context and none", r.err, r.Samples)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		params string
		fields []string
	}{
		{`{"command": "true"}`, nil},
		{`{}`, []string{"command"}},
		{`{"command": " ", "shell": "sh"}`, []string{"command", "shell"}},
		{`{"command": "x", "env": {"A=B": ""}}`, []string{"env"}},
		{`{"command": "x", "pass_env": ["A", "B_1"], "env": {"C": ""}}`, nil},
		{`{"command": "x", "pass_env": ["A*"]}`, []string{"pass_env"}},
		{`{"command": "x", "pass_env": ["A"], "env": {"A": ""}}`, []string{"pass_env"}},
		{`{"command": "x", "metrics": [{"name": "m"}]}`, []string{"metrics[0]"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true, "regex": "(a)"}]}`, []string{"metrics[0]"}},
		{`{"command": "x", "metrics": [{"number": true}]}`, []string{"metrics[0].name"}},
		{`{"command": "x", "metrics": [{"name": "1 m", "number": true}]}`, []string{"metrics.1 m.name"}},
		{`{"command": "x", "metrics": [{"name": "elapsed", "number": true}]}`, []string{"metrics[0].name"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true}, {"name": "m", "number": true}]}`, []string{"metrics[1].name"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true, "better": "bigger"}]}`, []string{"metrics.m.better"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true, "from": "file"}]}`, []string{"metrics.m.from"}},
		{`{"command": "x", "metrics": [{"name": "m", "regex": "("}]}`, []string{"metrics[0].regex"}},
		{`{"command": "x", "metrics": [{"name": "m", "regex": "a"}]}`, []string{"metrics[0].regex"}},
		{`{"command": "x", "metrics": [{"name": "m", "regex": "(a)(b)"}]}`, []string{"metrics[0].regex"}},
		{`{"command": "x", "metrics": [{"name": "m", "json": ".a["}]}`, []string{"metrics[0].json"}},
		{`{"command": "x", "metrics": [{"name": "m", "json": "nofunction"}]}`, []string{"metrics[0].json"}},
		{`{"command": "x", "progress": {"unit": "op", "regex": "(a)"}}`, []string{"progress.metric"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true}], "progress": {"regex": "(a)"}}`, []string{"progress.unit"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true}], "progress": {"unit": "op"}}`, []string{"progress"}},
		{`{"command": "x", "metrics": [{"name": "m", "number": true}], "progress": {"unit": "op", "metric": "n", "json": "."}}`, []string{"progress.metric"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.fields, paramtest.Fields(paramtest.Check(t, Kind(), tt.params))); diff != "" {
			t.Errorf("Validate(%s) (-want +got):\n%s", tt.params, diff)
		}
	}
}

// TestExpressionMemory: an expression that takes memory without end is stopped. One that
// takes too much at once ends its process, before the node is out of memory.
func TestExpressionMemory(t *testing.T) {
	const atOnce = `last(limit(40; {a: 1} | recurse([., .]))) | tostring | length`
	if os.Getenv("EXPRESSION") != "" {
		_, err := readJSON(t.Context(), atOnce, []byte("{}"))
		t.Fatalf("evaluated: %v", err)
	}
	const endless = `[repeat("x")] | length`
	if _, err := readJSON(t.Context(), endless, []byte("{}")); !errors.Is(err, model.ErrUsage) {
		t.Errorf("readJSON(%q): %v, want that it takes too much memory", endless, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExpressionMemory$")
	cmd.Env = append(os.Environ(), "EXPRESSION=1")
	out, _ := cmd.CombinedOutput()
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 //nolint:forcetypeassert // Unix
	if !bytes.Contains(out, []byte("memory")) || used > 8*expression.MaxMemory {
		t.Errorf("%s used %d MiB and ended with %v: %.300s", atOnce, used>>20, cmd.ProcessState, out)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(".a.b[0].c", `{"a":{"b":[{"c":7}]}}`)
	f.Add(".", "12")
	f.Add(".[]", "x\n[1e400]")
	f.Fuzz(func(t *testing.T, expression, text string) {
		if strings.ContainsAny(expression, "(|") || len(expression) > 50 {
			return // loops of jq are bounded by time, which fuzzing has not
		}
		v, err := readJSON(t.Context(), expression, []byte(text))
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Errorf("readJSON(%q, %q) = %v, want a number or an error", expression, text, v)
		}
	})
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", ".5", "5.", "nan", "0x1p3", "1_000", "1e999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseNumber(s)
		if err != nil {
			return
		}
		// JSON's own idea of a number is an independent judge, where it has one.
		var j float64
		if json.Unmarshal([]byte(s), &j) == nil && j != v {
			t.Errorf("parseNumber(%q) = %v, want %v", s, v, j)
		}
	})
}

func FuzzKeeper(f *testing.F) {
	f.Add([]byte("a\nb\nc\nd\ne\nf\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		step = max(1, step%7)
		k := &keeper{half: 4}
		for rest := text; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			_, _ = k.Write(rest[:min(step, len(rest))])
		}
		if got := k.text(); len(text) < 12 && !bytes.Equal(got, text) || len(got) > 8+len(gap) && k.cut {
			t.Errorf("text() of %q = %q", text, got)
		}
	})
}
