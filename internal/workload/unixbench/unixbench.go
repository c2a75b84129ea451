// Package unixbench runs a UnixBench (byte-unixbench 5.x or 6.x) that the user
// has built, and reads the report that its Run script prints: for every set of
// parallel copies each test's score and the index.
//
// UnixBench runs the whole suite once with one copy and once with as many
// copies as there are processors, unless told otherwise. Metrics of a set are
// named after its number of copies (see samples). Scores are as printed;
// higher is better for all of them. UnixBench reports nothing before its end,
// so there is no progress series.
package unixbench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload.
type Params struct {
	Dir        string        `json:"dir" jsonschema:"description=Directory of the built UnixBench: the one that holds Run and pgms,minLength=1"`
	Tests      []string      `json:"tests,omitempty" jsonschema:"description=Tests or groups to run as Run names them: dhry2reg whetstone-double system; default: the tests of the index,uniqueItems=true"`
	Copies     []int         `json:"copies,omitempty" jsonschema:"description=Numbers of parallel copies to run with; default: one copy and then one per processor,uniqueItems=true,minimum=1,maximum=4096"`
	Iterations int           `json:"iterations,omitempty" jsonschema:"description=Iterations of the slow tests; without it UnixBench's own (10),minimum=1,maximum=100"`
	Expected   unit.Duration `json:"expected,omitempty" jsonschema:"description=Expected duration; only used for the plan's estimate,default=1h"`
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "unixbench",
		Summary: "A UnixBench that you have built: the index of one and of many copies, and every test's score.",
		New:     func() workload.Workload { return &Params{Expected: unit.Duration(time.Hour)} },
	}
}

// testForm is how Run names tests. A leading - would be an option to it.
var testForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	err := workload.Refuse(!filepath.IsAbs(p.Dir), "dir",
		"the absolute path of the directory that holds UnixBench's Run, the same on every node",
		"%q is not an absolute path", p.Dir)
	for i, t := range p.Tests {
		err = cmp.Or(err, workload.Refuse(!testForm.MatchString(t), fmt.Sprintf("tests[%d]", i), "a name as in UnixBench's USAGE, such as dhry2reg", "%q cannot name a test", t))
	}
	return err
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.Expected.Std() }

const getIt = "get UnixBench from https://github.com/kdlucas/byte-unixbench, build it with make, and set dir to its directory UnixBench"

// Tools implements workload.ToolUser.
func (p *Params) Tools() []workload.Tool {
	return []workload.Tool{{Name: filepath.Join(p.Dir, "Run"), Get: getIt}}
}

// Prepare looks for a UnixBench that has been built: compiling must be neither
// timed nor done by several nodes in one directory.
func (p *Params) Prepare(context.Context, *workload.Env) error {
	run := filepath.Join(p.Dir, "Run")
	if info, err := os.Stat(run); err != nil || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is missing on this node: %s", run, getIt)
	}
	if programs, err := filepath.Glob(filepath.Join(p.Dir, "pgms", "*")); err != nil || len(programs) == 0 {
		return fmt.Errorf("the UnixBench in %s has no programs: run `make` there first", p.Dir)
	}
	return nil
}

// arguments are those of Run.
func (p *Params) arguments() []string {
	var args []string
	if p.Iterations > 0 {
		args = append(args, "-i", strconv.Itoa(p.Iterations))
	}
	for _, c := range p.Copies {
		args = append(args, "-c", strconv.Itoa(c))
	}
	return append(args, p.Tests...)
}

// Run runs UnixBench and reports all scores. Every number of copies that was
// asked for must be among them.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	text, err := p.execute(ctx, env)
	if err != nil {
		return err
	}
	sets, err := parse(text)
	if err != nil {
		return err
	}
	if err := p.checkCopies(sets); err != nil {
		return err
	}
	for _, s := range samples(sets) {
		env.Report.Sample(s)
	}
	return nil
}

func (p *Params) checkCopies(sets []set) error {
	for _, c := range p.Copies {
		if !slices.ContainsFunc(sets, func(s set) bool { return s.copies == c }) {
			return fmt.Errorf("UnixBench reported nothing for %d copies", c)
		}
	}
	return nil
}

// maxReport bounds the report: a machine with 4,096 processors prints some
// hundred bytes for each.
const maxReport = 8 << 20

// execute runs the script and returns what it printed. Results and temporary
// files go to the task's own directory, so that several nodes may share one
// UnixBench.
func (p *Params) execute(ctx context.Context, env *workload.Env) (string, error) {
	cmd := exec.CommandContext(ctx, "./Run", p.arguments()...)
	cmd.Dir = p.Dir
	cmd.Env = append(slices.Clip(env.Environ),
		"UB_RESULTDIR="+filepath.Join(env.Dir, "results"), "UB_TMPDIR="+filepath.Join(env.Dir, "tmp"), "LC_ALL=C")
	var text limited
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, env.Stdout), env.Stderr
	err := workload.RunTool(ctx, cmd, env.Report)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("UnixBench ended with %w; its standard output says why", exit)
	}
	return text.buf.String(), err
}

// limited keeps the first maxReport bytes.
type limited struct{ buf bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxReport - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// samples are the metrics of all sets. They begin with "single" for one copy,
// "multi" for the only set with several, and "copies4" where there are more
// sets of several copies.
func samples(sets []set) (out []model.Sample) {
	several := 0
	for _, s := range sets {
		if s.copies > 1 {
			several++
		}
	}
	for _, s := range sets {
		prefix := "multi_"
		switch {
		case s.copies == 1:
			prefix = "single_"
		case several > 1:
			prefix = fmt.Sprintf("copies%d_", s.copies)
		}
		index := prefix + "index"
		if s.partial {
			index = prefix + "partial_index"
		}
		labels := map[string]string{"copies": strconv.Itoa(s.copies)}
		out = append(out, model.Sample{Metric: index, Unit: "index", Value: s.index, Better: model.Higher, Labels: labels})
		for _, t := range s.tests {
			out = append(out, model.Sample{Metric: prefix + slug(t.name), Unit: t.unit, Value: t.score, Better: model.Higher, Labels: labels})
		}
	}
	return out
}

// set is the report of one number of parallel copies.
type set struct {
	copies  int
	tests   []score
	index   float64
	indexed bool
	partial bool // of the index's tests only some were run
}

// score is one test's result.
type score struct {
	name  string
	unit  string // "lps", "MWIPS", "KBps", "lpm", …
	score float64
}

// The lines of the report, as Run's subroutines print them: summarizeRun,
// logResults and logIndexCat. Spaces are taken as they come, since forks
// differ in the width of columns.
var (
	copiesLine = regexp.MustCompile(`^\d+ CPUs? in system; running (\d+) parallel (?:copy|copies) of tests\s*$`)
	scoreLine  = regexp.MustCompile(`^(\S.*?)\s+([0-9]+(?:\.[0-9]+)?)\s+(\S+)\s+\([0-9.]+ s, \d+ samples?\)\s*$`)
	indexLine  = regexp.MustCompile(`^(System Benchmarks) Index Score( \(Partial Only\))?:?\s+([0-9]+(?:\.[0-9]+)?)\s*$`)
)

// parse reads everything that Run printed. A report without an index, or with
// a set that lacks one, is refused: the index is what UnixBench is run for.
func parse(text string) ([]set, error) {
	var sets []set
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := copiesLine.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil || n < 1 {
				return nil, fmt.Errorf("UnixBench's report: %q must be a number of copies above 0", m[1])
			}
			sets = append(sets, set{copies: n})
			continue
		}
		if len(sets) > 0 { // otherwise: the banner, and the heartbeat of the passes
			if err := sets[len(sets)-1].add(line); err != nil {
				return nil, err
			}
		}
	}
	return sets, check(sets)
}

// add takes a line that may belong to the set.
func (s *set) add(line string) (err error) {
	if m := scoreLine.FindStringSubmatch(line); m != nil {
		t := score{name: m[1], unit: m[3]}
		if t.score, err = strconv.ParseFloat(m[2], 64); err != nil {
			return fmt.Errorf("UnixBench's report: score of %s: %w", t.name, err)
		}
		s.tests = append(s.tests, t)
	} else if m := indexLine.FindStringSubmatch(line); m != nil {
		if s.index, err = strconv.ParseFloat(m[3], 64); err != nil {
			return fmt.Errorf("UnixBench's report: index: %w", err)
		}
		s.indexed, s.partial = true, m[2] != ""
	}
	return nil
}

func check(sets []set) error {
	if len(sets) == 0 {
		return errors.New(`UnixBench printed no report: it has no line "… running N parallel copies of tests"; its output says why`)
	}
	seen := map[int]bool{}
	for _, s := range sets {
		switch {
		case seen[s.copies]:
			return fmt.Errorf("UnixBench's report has two sets of %d copies", s.copies)
		case len(s.tests) == 0:
			return fmt.Errorf("UnixBench's report has no test in the set of %d copies", s.copies)
		case !s.indexed || s.index <= 0:
			return fmt.Errorf("UnixBench's report has no index in the set of %d copies: run tests that belong to the index (such as dhry2reg), or leave tests out", s.copies)
		}
		seen[s.copies] = true
	}
	return nil
}

// slug makes a metric's name of a test's: "Shell Scripts (8 concurrent)"
// becomes "shell_scripts_8_concurrent".
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "_")
}
