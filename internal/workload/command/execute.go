package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/itchyny/gojq"

	"github.com/scalebench/scalebench/internal/expression"
	"github.com/scalebench/scalebench/internal/workload"
)

// execution is one running command.
type execution struct {
	cmd            *exec.Cmd
	started        time.Time
	stdout, stderr *keeper
	readers        sync.WaitGroup
	pipes          []*os.File // read ends
}

// start starts the command.
func (p *Params) start(ctx context.Context, env *workload.Env) (_ *execution, err error) {
	x := &execution{cmd: exec.CommandContext(ctx, p.Shell, "-c", p.Command), stdout: &keeper{half: keepHalf}, stderr: &keeper{half: keepHalf}}
	if x.cmd.Dir, err = p.directory(env.Environ); err != nil {
		return nil, err
	}
	x.cmd.Env = p.environ(env.Environ)
	// The runner kills the whole group when the time is over; at the end of
	// ctx the shell is asked to end, as the rest of the group is.
	x.cmd.Cancel = func() error { return x.cmd.Process.Signal(syscall.SIGTERM) }
	out, err := x.pipe(env.Stdout, x.stdout, p.progressLines(ctx, env.Report))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the command has its own copy
	errs, err := x.pipe(env.Stderr, x.stderr)
	if err != nil {
		x.closePipes()
		return nil, err
	}
	defer func() { _ = errs.Close() }()
	x.cmd.Stdout, x.cmd.Stderr = out, errs
	if p.Progress != nil { // a counter of the work since the start begins at 0
		env.Report.Progress(p.progressMetric(), p.Progress.Unit, 0)
	}
	x.started = time.Now()
	if err := x.cmd.Start(); err != nil {
		x.closePipes()
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	return x, nil
}

// progressLines reads the counter from the lines of standard output. The time
// of a point is the time at which its line arrives: a command that buffers its
// output reports late.
func (p *Params) progressLines(ctx context.Context, r workload.Reporter) io.Writer {
	if p.Progress == nil {
		return io.Discard
	}
	return &workload.Lines{Take: func(line []byte) {
		read, expression := readJSON, p.Progress.JSON
		if p.Progress.Regex != "" {
			read, expression = readRegex, p.Progress.Regex
		}
		if v, err := read(ctx, expression, line); err == nil {
			r.Progress(p.progressMetric(), p.Progress.Unit, v)
		}
	}}
}

// pipe returns the write end of a pipe; its content goes to all of the writers.
func (x *execution) pipe(to ...io.Writer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("opening a pipe for the command: %w", err)
	}
	x.pipes = append(x.pipes, r)
	x.readers.Go(func() { _, _ = io.Copy(io.MultiWriter(to...), r) }) // ends with the pipe, or at a deadline
	return w, nil
}

// printGrace is how long what the command left running may go on printing.
const printGrace = time.Second

// wait returns the time from start to end of the command's process, and an
// error unless it ended with status 0.
func (x *execution) wait(ctx context.Context) (time.Duration, error) {
	err := x.cmd.Wait()
	elapsed := time.Since(x.started)
	for _, r := range x.pipes {
		_ = r.SetReadDeadline(time.Now().Add(printGrace)) // pipes take deadlines
	}
	x.readers.Wait()
	x.closePipes()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return elapsed, nil
	case ctx.Err() != nil:
		return elapsed, ctx.Err()
	case !errors.As(err, &exit):
		return elapsed, fmt.Errorf("running the command: %w", err)
	}
	said := x.stderr.text()
	if len(bytes.TrimSpace(said)) == 0 {
		said = x.stdout.text()
	}
	return elapsed, fmt.Errorf("the command ended with %w; its output begins: %s", exit, excerpt(said))
}

func (x *execution) closePipes() {
	for _, r := range x.pipes {
		_ = r.Close() // only read
	}
	x.readers.Wait()
}

// text is what the command printed to stderr, or to stdout for any other name.
func (x *execution) text(from string) []byte {
	if from == "stderr" {
		return x.stderr.text()
	}
	return x.stdout.text()
}

// keepHalf is how much of the begin and of the end of a stream is kept for
// extraction.
const keepHalf = 8 << 20

// gap stands where text was left out. It has no digit that an expression could
// take for a number.
const gap = "\n[…]\n"

// keeper keeps the begin and the end of a stream in bounded memory. Not safe
// for concurrent use.
type keeper struct {
	half int
	head []byte
	// tail holds what came after head, up to two halves: the older half is
	// dropped when it is full, so that bytes are moved once a half.
	tail []byte
	cut  bool // something was dropped
}

func (k *keeper) Write(p []byte) (int, error) {
	n := len(p)
	if room := k.half - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head, p = append(k.head, p[:take]...), p[take:]
	}
	for len(p) > 0 {
		take := min(2*k.half-len(k.tail), len(p))
		k.tail, p = append(k.tail, p[:take]...), p[take:]
		if len(k.tail) == 2*k.half {
			k.cut = true
			k.tail = k.tail[:copy(k.tail, k.tail[k.half:])]
		}
	}
	return n, nil
}

// text returns what was kept: everything, or the first and the last whole
// lines. A line that the cut has split is left out, because half a number is
// another number.
func (k *keeper) text() []byte {
	if !k.cut {
		return slices.Concat(k.head, k.tail)
	}
	tail := k.tail[max(0, len(k.tail)-k.half):]
	return slices.Concat(k.head[:bytes.LastIndexByte(k.head, '\n')+1], []byte(gap), tail[bytes.IndexByte(tail, '\n')+1:])
}

// read extracts the metric from the text of its stream. The error says what
// was looked for and shows the text's begin.
func (m Metric) read(ctx context.Context, text []byte) (v float64, err error) {
	var what string
	switch {
	case m.JSON != "":
		what = "json " + m.JSON
		v, err = readJSON(ctx, m.JSON, text)
	case m.Regex != "":
		what = "regex " + m.Regex
		v, err = readRegex(ctx, m.Regex, text)
	default:
		what = "the whole output as a number"
		v, err = parseNumber(string(bytes.TrimSpace(text)))
	}
	if err != nil {
		return 0, fmt.Errorf("metric %s: looking for %s in %s: %w; the output begins: %s", m.Name, what, cmp.Or(m.From, "stdout"), err, excerpt(text))
	}
	return v, nil
}

// excerpt is the begin of a text, quoted.
func excerpt(text []byte) string {
	const length = 200
	switch {
	case len(text) == 0:
		return "(nothing was printed)"
	case len(text) > length:
		return strconv.Quote(string(text[:length])) + "…"
	}
	return strconv.Quote(string(text))
}

// numberForm is a decimal number with an optional exponent. ParseFloat alone
// would take "inf", "nan" and hexadecimal, too.
var numberForm = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func parseNumber(s string) (float64, error) {
	if !numberForm.MatchString(s) {
		return 0, fmt.Errorf("%s is not a number", excerpt([]byte(s)))
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a usable number: %w", s, errors.Unwrap(err))
	}
	return v, nil
}

// readRegex returns the group of the last match: the summary of most tools
// comes last.
func readRegex(_ context.Context, pattern string, text []byte) (float64, error) {
	re, err := expression.Regexp(pattern)
	if err != nil {
		return 0, err
	}
	all := re.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, errors.New("no match")
	}
	return parseNumber(strings.TrimSpace(string(all[len(all)-1][1])))
}

// readJSON evaluates a jq expression on the text, or on its last line if the
// whole text is not a JSON document (tools that log before they report).
func readJSON(ctx context.Context, jq string, text []byte) (float64, error) {
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		lines := bytes.TrimRight(text, "\r\n \t")
		if json.Unmarshal(lines[bytes.LastIndexByte(lines, '\n')+1:], &doc) != nil {
			return 0, fmt.Errorf("neither the output nor its last line is a JSON document: %w", err)
		}
	}
	return evaluate(ctx, jq, doc)
}

// evaluationTime bounds an expression that does not end (`range(infinite)`).
const evaluationTime = 10 * time.Second

// evaluate returns the one number that the expression gives.
func evaluate(ctx context.Context, jq string, doc any) (float64, error) {
	code, err := compileJSON(jq)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, evaluationTime)
	defer cancel()
	ctx, stop := expression.WithMemoryLimit(ctx)
	defer stop()
	values := code.RunWithContext(ctx, doc)
	v, ok := values.Next()
	if cause := context.Cause(ctx); cause != nil {
		return 0, fmt.Errorf("the expression was stopped: %w", cause)
	}
	if !ok {
		return 0, errors.New("the expression gives nothing")
	}
	if _, more := values.Next(); more {
		return 0, errors.New("the expression gives more than one value")
	}
	return number(v)
}

// number converts what jq gave. A string with a number in it counts: several
// tools quote theirs.
func number(v any) (float64, error) {
	switch v := v.(type) {
	case error:
		return 0, v
	case nil:
		return 0, errors.New("the expression gives null")
	case int:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("the expression gives %v", v)
		}
		return v, nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, nil
	case string:
		return parseNumber(strings.TrimSpace(v))
	}
	return 0, fmt.Errorf("the expression gives %s and not a number", gojq.TypeOf(v))
}

func compileJSON(text string) (*gojq.Code, error) {
	if err := expression.CheckLength(text); err != nil {
		return nil, err
	}
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(q)
}
