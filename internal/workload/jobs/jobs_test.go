package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{"items": {"count": 3}, "command": "true"}`, ""},
		{`{"duration": "1s", "function": "spin", "time": "5ms"}`, ""},
		{`{"items": {"prefix": "/"}, "bucket": "bench", "function": "sort", "put": {"prefix": "out/"}}`, ""},
		{`{"stage": {"copies": 3, "size": "1kB"}, "bucket": "bench", "command": "wc {in}"}`, ""},
		{`{"nats": {"url": "nats://h:1", "stream": "s"}, "get": {}, "bucket": "bench", "command": "wc"}`, ""},
		{`{"items": {"count": 3}, "command": "true", "put": {"suffix": ".tar.gz"}, "bucket": "bench"}`, ""},
		{`{"items": {"count": 3}, "command": "true", "put": {"suffix": "/../x"}, "bucket": "bench"}`, "put.suffix"},
		{`{"command": "true"}`, "items"},
		{`{"items": {}, "command": "true"}`, "items"},
		{`{"items": {"count": 3, "list": ["a"]}, "command": "true"}`, "items"},
		{`{"items": {"list": [""]}, "command": "true"}`, "items.list[0]"},
		{`{"items": {"count": 3}, "stage": {"copies": 1, "size": "1B"}, "bucket": "bench", "command": "true"}`, "items"},
		{`{"duration": "1s", "get": {}, "bucket": "bench", "command": "true"}`, "get"},
		{`{"items": {"count": 3}}`, "command"},
		{`{"items": {"count": 3}, "command": "true", "function": "sleep", "time": "1s"}`, "command"},
		{`{"items": {"count": 3}, "command": "cat {in}"}`, "command"},
		{`{"items": {"count": 3}, "command": "date > {out}"}`, "command"},
		{`{"items": {"count": 3}, "function": "sort"}`, "function"},
		{`{"items": {"count": 3}, "function": "sleep"}`, "time"},
		{`{"items": {"count": 3}, "command": "true", "time": "1s"}`, "time"},
		{`{"items": {"count": 3}, "function": "spin", "time": "1s", "put": {}, "bucket": "bench"}`, "put"},
		{`{"items": {"prefix": "a"}, "command": "true"}`, "bucket"},
		{`{"items": {"prefix": "a"}, "command": "true", "bucket": "B"}`, "bucket"},
		{`{"items": {"prefix": "a"}, "command": "true", "bucket": "bench", "endpoint": "host"}`, "endpoint"},
		{`{"items": {"prefix": "out/a"}, "bucket": "bench", "function": "sort", "put": {"prefix": "out"}}`, "put.prefix"},
		{`{"items": {"prefix": "out/a"}, "bucket": "bench", "function": "sort", "put": {"prefix": "out",
			"bucket": "other"}}`, ""},
		{`{"stage": {"copies": 1, "size": "1B", "prefix": "scalebench"}, "bucket": "bench", "function": "copy",
			"put": {}}`, "put.prefix"},
		{`{"stage": {"copies": 1}, "bucket": "bench", "command": "true"}`, "stage"},
		{`{"stage": {"copies": 1, "file": "x"}, "bucket": "bench", "command": "true"}`, "stage.file"},
		{`{"stage": {"copies": 1, "make": "true"}, "bucket": "bench", "command": "true"}`, "stage.make"},
		{`{"stage": {"copies": 1, "size": "1B", "announce": true}, "bucket": "bench",
			"command": "true"}`, "stage.announce"},
		{`{"nats": {"url": "http://h", "stream": "s"}, "command": "true"}`, "nats.url"},
		{`{"nats": {"url": "nats://u:p@h", "stream": "s"}, "command": "true"}`, "nats.url"},
		{`{"nats": {"url": "nats://h", "stream": "a.b"}, "command": "true"}`, "nats.stream"},
		{`{"nats": {"url": "nats://h", "stream": "s", "create": true}, "command": "true"}`, "nats.subject"},
		{`{"items": {"count": 3}, "command": "true", "duration": "1ms"}`, "duration"},
		{`{"items": {"count": 3}, "command": "echo '{item}'"}`, "command"},
		{`{"items": {"count": 3}, "command": "echo \"it is {item}\""}`, "command"},
		{`{"items": {"count": 3}, "command": "echo {items}"}`, "command"},
		{`{"items": {"count": 3}, "command": "echo {ITEM}"}`, "command"},
		{`{"stage": {"copies": 3, "make": "seq 3 > '{out}'"}, "bucket": "bench", "command": "wc {in}"}`, "stage.make"},
		{`{"items": {"count": 3}, "command": "awk '{print}' /etc/fstab # don't\n echo \"$(echo {item})\" '\\' {item}"}`, ""},
		{`{"items": {"count": 3}, "command": "for i in a{b,c}; do echo ${item} {} 'it'\\''s' \"\\\"\" {item}; done"}`, ""},
		{`{"items": {"count": 3}, "command": "true", "lease": "1ms"}`, "lease"},
		{`{"items": {"count": 3}, "command": "true", "pass_env": ["SCALEBENCH_TOKEN"]}`, "pass_env"},
	})
}

func TestTools(t *testing.T) {
	p := &Params{Command: "ffmpeg -i {in} {out}", Stage: &Stage{Make: "head -c 9 /dev/zero > {out}"}}
	var names []string
	for _, tool := range p.Tools() {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"ffmpeg", "head"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// onGateway are the keys that reach a gateway.
func onGateway(g *s3test.Gateway, rest string) string {
	return fmt.Sprintf(`{"endpoint": %q, "region": "us-east-1", "bucket": "bench", %s}`, g.URL, rest)
}

// TestDrain: two nodes work on the objects of a prefix until each is done. Each has one
// record, which names an object with the right content.
func TestDrain(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	for i := range 20 {
		g.Write(t, fmt.Sprintf("in/%02d.txt", i), fmt.Sprintf("c\nb %d\na", i))
	}
	s := newServer(t)
	params := onGateway(g, `"items": {"prefix": "in/"}, "function": "sort", "put": {"prefix": "out", "suffix": ".txt",
			"keep": true}, "slots": 2`)
	a, b := newTask(t, s, params, 0, 2), newTask(t, s, params, 1, 2)
	ran(t, a, b)
	done := s.records(jobs.Done)
	if len(done) != 20 {
		t.Fatalf("%d items are done, want 20", len(done))
	}
	for i := range 20 {
		r := done[fmt.Sprintf("in/%02d.txt", i)]
		want := fmt.Sprintf("a\nb %d\nc\n", i)
		if got := g.Read(t, r.Output); got != want || r.Out != int64(len(want)) || r.In != int64(len(want)-1) || r.Try != 1 {
			t.Errorf("item %d: object %q, %+v", i, got, r)
		}
		if !strings.HasPrefix(r.Output, "out/"+r.Key+"/") || !strings.HasSuffix(r.Output, ".txt") {
			t.Errorf("item %d: its result is %s", i, r.Output)
		}
		if sum := r.Wait + r.Get + r.Compute + r.Put; r.Put <= 0 || r.Get <= 0 || sum > r.End-r.Begin ||
			sum < .9*(r.End-r.Begin)-.01 {
			t.Errorf("item %d: stages of %v s in a job of %v s: %+v", i, sum, r.End-r.Begin, r)
		}
	}
	if sum := a.last().Value + b.last().Value; math.Abs(sum-20) > 1e-6 {
		t.Errorf("%v jobs were counted", sum)
	}
	if n := len(g.Objects(t)); n != 40 {
		t.Errorf("%d objects, want 20 items and 20 results", n)
	}
	checkDrained(t, a)
}

func checkDrained(t *testing.T, a *task) {
	t.Helper()
	v := a.Values()
	if better := a.Find("jobs_done").Better; better != model.Higher {
		t.Errorf("of jobs_done, %s is better", better)
	}
	if v["jobs_get_bytes"] < 6 || math.Abs(v["jobs_put_bytes"]-v["jobs_get_bytes"]-1) > 1e-9 || v["jobs_tries"] != 1 ||
		v["jobs_requests"] < 2 {
		t.Errorf("samples %v", v)
	}
	if makespan := v["jobs_makespan"]; makespan <= 0 || v["jobs_tail"] < 0 || v["jobs_tail"] > makespan {
		t.Errorf("makespan %v, tail %v", makespan, v["jobs_tail"])
	}
	for _, h := range []string{"jobs_wait", "jobs_get", "jobs_compute", "jobs_put", "jobs_time", "jobs_cpu",
		"jobs_get_bytes", "jobs_put_bytes"} {
		if a.FindHistogram(h).Encoded == "" || v[h] <= 0 {
			t.Errorf("no distribution of %s, or its mean is %v", h, v[h])
		}
	}
}

// TestResumed: the rest of a queue has no makespan and no rate.
func TestResumed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.q.Restore(nil, false, []jobs.Over{{Key: "0", Outcome: jobs.Done}, {Key: "3", Outcome: jobs.SetAside}})
	a := newTask(t, s, `{"items": {"count": 4}, "function": "sleep", "time": "10ms", "slots": 1}`, 0, 1)
	ran(t, a)
	v := a.Values()
	if v["jobs_done"] != 2 || v["jobs_earlier"] != 2 || v["jobs_time"] <= 0 {
		t.Errorf("samples %v", v)
	}
	for _, metric := range []string{jobsMetric, "jobs_makespan", "jobs_tail", "jobs_stragglers"} {
		if x, ok := v[metric]; ok {
			t.Errorf("%s is %v", metric, x)
		}
	}
}

// TestMakespan: a node that finds nothing more knows when the last item of another was over.
func TestMakespan(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	params := `{"items": {"count": 1}, "function": "sleep", "time": "300ms", "slots": 1}`
	a, b := newTask(t, s, params, 0, 2), newTask(t, s, params, 1, 2)
	ran(t, a, b)
	end := s.records(jobs.Done)["0"].End
	for name, task := range map[string]*task{"a": a, "b": b} {
		if v := task.Values()["jobs_makespan"]; v < end-.1 || v > end+.4 {
			t.Errorf("node %s: the makespan is %v s, and the only item was over after %v s", name, v, end)
		}
		if last := task.last(); math.Abs(last.After.Seconds()-task.Values()["jobs_makespan"]) > 1e-6 {
			t.Errorf("node %s: the series ends at %v, and the makespan is %v s", name, last.After,
				task.Values()["jobs_makespan"])
		}
	}
}

// TestResultsAreNoItems: the next task on the same bucket finds the same items.
func TestResultsAreNoItems(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	g.Write(t, "a", "x")
	for range 2 {
		s := newServer(t)
		ran(t, newTask(t, s, onGateway(g, `"items": {"prefix": "/"}, "put": {"prefix": "out", "keep": true},
			"function": "copy"`), 0, 1))
		if done := s.records(jobs.Done); len(done) != 1 {
			t.Errorf("done are %v", keysOf(done))
		}
	}
}

// TestRemoved: results that need not stay are removed by the task, and what is staged
// stays and is found by the next.
func TestRemoved(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	params := onGateway(g, `"stage": {"copies": 5, "size": "1kB"}, "function": "copy", "put": {}, "slots": 2`)
	for range 2 {
		s := newServer(t)
		a, b := newTask(t, s, params, 0, 2), newTask(t, s, params, 1, 2)
		ran(t, a, b)
		if done := s.records(jobs.Done); len(done) != 5 {
			t.Errorf("%d items are done, want 5", len(done))
		}
		for _, x := range []*task{a, b} {
			if err := x.Cleanup(t.Context(), x.env); err != nil {
				t.Error(err)
			}
		}
		for _, x := range []*task{a, b} {
			if v := x.Values(); v["jobs_done"] > 0 &&
				(v["jobs_requests"] != 2 || v["jobs_get_requests"] != 1 || v["jobs_put_requests"] != 1) {
				t.Errorf("%v requests a job, %v gets, want a get and a put", v["jobs_requests"], v["jobs_get_requests"])
			}
		}
		if left := keysOf(g.Objects(t)); len(left) != 5 || !strings.HasPrefix(left[0], "staged/") {
			t.Errorf("left are %v", left)
		}
	}
}

// TestDuration: of jobs of known length, as many are counted as fit into the time,
// fractions included, and what begins after it is given back. The time is not real.
func TestDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := newTask(t, s, `{"function": "sleep", "time": "150ms", "slots": 3, "duration": "1s"}`, 0, 1)
		ran(t, a)
		if end := a.last(); end.After != time.Second || math.Abs(end.Value-3/.15) > 1e-4 {
			t.Errorf("%v jobs until %v, want 20 in a second", end.Value, end.After)
		}
		if rate := a.Find(jobsMetric); math.Abs(rate.Value-20) > 1e-4 || rate.Unit != "job/s" {
			t.Errorf("sample %+v", rate)
		}
		if st := s.q.State(); st.Leased != 0 || a.Find("jobs_failed").Value != 0 {
			t.Errorf("%d items are still leased, %v executions failed", st.Leased, a.Find("jobs_failed").Value)
		}
		if v := a.Values(); math.Abs(v["jobs_time"]-.15) > 1e-9 || v["jobs_done"] != 21 {
			t.Errorf("samples %v", v)
		}
	})
}

// TestAgain: so many items come again and again under their names, and numbers without end
// do not.
func TestAgain(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	for i := range 3 {
		g.Write(t, fmt.Sprint("in/", i), "x")
	}
	for params, most := range map[string]int{
		onGateway(g, `"items": {"count": 3}, "get": {"prefix": "in/"}, "function": "copy",
			"duration": "300ms", "slots": 2`): 3,
		`{"function": "sleep", "time": "10ms", "duration": "300ms", "slots": 2}`: 1000,
	} {
		s := newServer(t)
		a := newTask(t, s, params, 0, 1)
		ran(t, a)
		if v := a.Values(); v["jobs_done"] < 4 || v["jobs_failed"] > 0 {
			t.Errorf("%s: samples %v\n%s", params, v, a.stderr.String())
		}
		if names := len(s.records(jobs.Done)); names != min(most, len(s.stored)) {
			t.Errorf("%s: %d records of items with %d names", params, len(s.stored), names)
		}
	}
}

// TestStayBusy: slots whose jobs end early go on until the last one has ended what it
// began in time.
func TestStayBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := newTask(t, s, `{"function": "sleep", "time": "100ms", "slots": 2, "duration": "650ms"}`, 0, 1)
		call, waited := a.env.Jobs, new(atomic.Bool)
		a.env.Jobs = func(ctx context.Context, c jobs.Call) (jobs.Reply, error) {
			if c.Take > 0 && waited.CompareAndSwap(false, true) { // one job ends 1.05 s after the start
				<-time.After(950 * time.Millisecond)
			}
			return call(ctx, c)
		}
		ran(t, a)
		var late int
		for _, r := range s.records(jobs.Done) {
			if r.Begin >= .65 && r.End <= 1.1 {
				late++
			}
		}
		// 6.5 jobs of one slot, and 0.65 of the 1.05 s of the other's.
		if end := a.last(); late != 3 || end.After != 650*time.Millisecond || math.Abs(end.Value-6.5-.65/1.05) > 1e-4 {
			t.Errorf("%d jobs were done while the other slot ended its own; the series ends at %v with %v", late, end.After,
				end.Value)
		}
	})
}

// TestRamp: slots begin at moments within the ramp, and the time before is no job's.
func TestRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := newTask(t, s, `{"function": "sleep", "time": "100ms", "slots": 40, "duration": "1s", "ramp": "500ms"}`, 0, 1)
		ran(t, a)
		first, want := map[int]float64{}, 0.0
		for _, r := range s.records(jobs.Done) {
			if at, there := first[r.Slot]; !there || r.Begin < at {
				first[r.Slot] = r.Begin
			}
		}
		begins := slices.Sorted(maps.Values(first))
		for _, at := range begins {
			want += (1 - at) / .1
		}
		if len(begins) != 40 || begins[0] > .15 || begins[39] < .35 || begins[39] > .5 {
			t.Errorf("slots begin at %v", begins)
		}
		if end := a.last(); math.Abs(end.Value-want) > 1e-3 || a.Find("jobs_time").Value > .1001 {
			t.Errorf("%v jobs of %v s, want %v of 0.1 s", end.Value, a.Find("jobs_time").Value, want)
		}
	})
}

// TestSpin: the processor time of a function is what was asked for.
func TestSpin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the time of a thread")
	}
	for params, want := range map[string][2]float64{
		`{"function": "spin", "time": "40ms", "slots": 1,
			"items": {"count": 4}}`: {.04, .06},
		`{"command": "i=0; while [ $i -lt 80000 ]; do i=$((i+1)); done; (exec sleep 0)",
			"slots": 1, "items": {"count": 2}}`: {.01, 3},
	} {
		a := newTask(t, newServer(t), params, 0, 1)
		ran(t, a)
		if cpu := a.Find("jobs_cpu").Value; cpu < want[0] || cpu > want[1] {
			t.Errorf("%s: %v s of processor time a job, want %v", params, cpu, want)
		}
	}
}

// TestFailures: one bad item is tried so often, set aside with clear words, and does no
// harm to the others.
func TestFailures(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	for i := range 8 {
		g.Write(t, fmt.Sprintf("in/%d", i), strings.Repeat("x", 100*(i+1)))
	}
	for name, c := range map[string]struct {
		rest, says string
		prepared   func() // after the items are named
	}{
		"status": {`"command": "case {item} in in/3) echo oh no >&2; exit 7;; esac; cat {in} > {out}"`,
			"exit status 7: oh no", nil},
		"vanished": {`"command": "cat"`, `object "in/3" is not in bucket "bench"`, func() { g.Remove(t, "in/3") }},
		"nothing":  {`"command": "[ {item} = in/3 ] || cat {in} > {out}"`, "has written no {out}", nil},
		"killed":   {`"command": "[ {item} = in/3 ] && kill -9 $$; cat {in} > {out}"`, "signal: killed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			defer g.Write(t, "in/3", strings.Repeat("x", 400))
			s := newServer(t)
			a := newTask(t, s, onGateway(g, c.rest+`, "items": {"prefix": "in/"}, "put": {}, "tries": 2, "slots": 2`), 0, 1)
			if err := a.Prepare(t.Context(), a.env); err != nil {
				t.Fatal(err)
			}
			if c.prepared != nil {
				c.prepared()
			}
			if err := a.Run(t.Context(), a.env); err != nil {
				t.Fatalf("one item fails the task: %v", err)
			}
			if done := s.records(jobs.Done); len(done) != 7 {
				t.Errorf("done are %v, want 7", keysOf(done))
			}
			aside := s.records(jobs.SetAside)["in/3"]
			if !strings.Contains(aside.Error, c.says) || aside.Try != 2 || !strings.Contains(a.stderr.String(), c.says) {
				t.Errorf("set aside: %+v, want %q\n%s", aside, c.says, a.stderr.String())
			}
			if got, want := a.Values()["jobs_get_bytes"], 4000./7; name == "status" && math.Abs(got-want) > 1e-9 {
				t.Errorf("%v bytes were got for a job, want %v: those of failed executions, too", got, want)
			}
			if v := a.Values(); v["jobs_failed"] != 2 || v["jobs_set_aside"] != 1 || v["jobs_tries"] != 9./7 {
				t.Errorf("samples %v", v)
			}
		})
	}
}

// TestNamesAreWrittenOut: no name of an item, and no word of a program, acts on a terminal or
// passes for a line of its own.
func TestNamesAreWrittenOut(t *testing.T) {
	t.Parallel()
	a := newTask(t, newServer(t), `{"items": {"list": ["a\u001b[2J\nb"]}, "slots": 1, "tries": 1, "max_errors": 1,
		"command": "printf 'oh\\033[1m' >&2; false"}`, 0, 1)
	if err := errors.Join(a.Prepare(t.Context(), a.env), a.Run(t.Context(), a.env)); err != nil {
		t.Fatal(err)
	}
	got := a.stderr.String()
	if strings.ContainsAny(strings.TrimSuffix(got, "\n"), "\x1b\n") || !strings.Contains(got, `a\x1b[2J\nb failed`) ||
		!strings.Contains(got, `oh\x1b[1m`) {
		t.Errorf("%q", got)
	}
}

// TestFilesGone: what an execution wrote is gone before the queue is told how it ended: it may
// fill the disk on which the queue keeps its records.
func TestFilesGone(t *testing.T) {
	t.Parallel()
	a := newTask(t, newServer(t), `{"items": {"count": 3}, "slots": 1, "tries": 2, "max_errors": 1,
			"command": "echo x > file; [ {item} != 1 ]"}`, 0, 1)
	call, told := a.env.Jobs, 0
	a.env.Jobs = func(ctx context.Context, c jobs.Call) (jobs.Reply, error) {
		if len(c.Finish) > 0 {
			told++
			if left, err := filepath.Glob(filepath.Join(a.env.Dir, "slot-*")); len(left) > 0 || err != nil {
				t.Errorf("left are %v, %v", left, err)
			}
		}
		return call(ctx, c)
	}
	ran(t, a)
	if told != 4 {
		t.Errorf("the queue was told of %d executions", told)
	}
}

func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rest, says string }{
		"share": {`"items": {"count": 8}, "command": "[ {item} -gt 2 ]", "max_errors": 0.3`, "3 of 8 items failed"},
		"all":   {`"items": {"count": 8}, "command": "false"`, "no item was done, 8 failed; the first: compute"},
		"end":   {`"duration": "1h", "command": "false"`, "no item was done"},
	} {
		a := newTask(t, newServer(t), `{"slots": 2, "tries": 2, `+c.rest+`}`, 0, 1)
		if err := runAll(t, a)[0]; err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Run() = %v, want %q", name, err, c.says)
		}
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	for name, c := range map[string]struct{ rest, says string }{
		"empty": {`"items": {"prefix": "in/"}, "command": "true"`, `bucket "bench" has no object below "in/"`},
		"all":   {`"items": {"prefix": "/"}, "command": "true"`, `bucket "bench" has no object: put some there`},
		"no bucket": {`"items": {"list": ["a"]}, "get": {"bucket": "other"},
			"command": "true"`, `the bucket "other" does not exist`},
		"no file": {`"stage": {"copies": 1, "file": "/nonexistent"}, "command": "true"`, "stage.file: stat /nonexistent"},
		"make": {`"stage": {"copies": 1, "make": "echo bad >&2; exit 3; {out}"},
			"command": "true"`, "stage: the command ended with exit status 3: bad"},
	} {
		a := newTask(t, newServer(t), onGateway(g, c.rest), 0, 1)
		if err := a.Prepare(t.Context(), a.env); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Prepare() = %v, want %q", name, err, c.says)
		}
	}
	if err := new(Params).Prepare(t.Context(), newTask(t, newServer(t), `{"duration": "1s",
			"command": "true"}`, 0, 1).withoutQueue().env); err == nil {
		t.Error("a server without queues is taken")
	}
}

func (b *task) withoutQueue() *task { b.env.Jobs = nil; return b }

// TestNames: the names of items are others' and cannot reach the shell.
func TestNames(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	a := newTask(t, s, `{"items": {"list": ["it's; touch bad", "$(touch bad)", "-n `+"`touch bad`"+`"]},
			"command": "printf %s {item} | wc -c >&2 && echo `+"`printf %s {item}`"+` >&2;`+
		` echo \"$(printf %s {item})\" >&2; [ ! -e bad ]", "slots": 1}`, 0, 1)
	ran(t, a)
	if done := s.records(jobs.Done); len(done) != 3 {
		t.Errorf("done are %v", keysOf(done))
	}
}

// TestLostLease: the execution of a lease that is over is ended, its result removed, and
// another one counts.
func TestLostLease(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	g.Write(t, "in/a", "x")
	s := newServer(t)
	flag := filepath.Join(t.TempDir(), "flag")
	rest := fmt.Sprintf(`"items": {"prefix": "in/"}, "put": {"prefix": "out", "keep": true}, "slots": 1, "lease": "1s",
		"command": "cat {in} > {out}; if mkdir %s; then exec sleep 1000; fi"`, flag)
	a := newTask(t, s, onGateway(g, rest), 0, 1)
	if err := a.Prepare(t.Context(), a.env); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- a.Run(t.Context(), a.env) }()
	for { // until the first execution is at work
		if _, err := os.Stat(flag); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("Run() = %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.later(time.Minute)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r := s.records(jobs.Done)["in/a"]
	if r.Try != 2 || g.Read(t, r.Output) != "x" || len(g.Objects(t)) != 2 {
		t.Errorf("record %+v, objects %v", r, keysOf(g.Objects(t)))
	}
	if v := a.Values(); v["jobs_lost"] != 1 || v["jobs_tries"] != 2 {
		t.Errorf("samples %v", v)
	}
}

// TestRefused: a result that comes after its lease was over is refused, and removed.
func TestRefused(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	g.Write(t, "in/a", "x")
	s := newServer(t)
	a := newTask(t, s, onGateway(g, `"items": {"prefix": "in/"}, "put": {"keep": true}, "slots": 1,
			"function": "copy"`), 0, 1)
	if err := a.Prepare(t.Context(), a.env); err != nil {
		t.Fatal(err)
	}
	other, err := s.callerFor("other")(t.Context(), jobs.Call{Take: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.later(time.Minute) // the other is silent
	mine, err := a.source.next(t.Context(), nil, true)
	if err != nil || mine.lease == nil {
		t.Fatal(mine, err)
	}
	s.later(time.Minute) // and so is this one, before its result comes
	r := a.newRun(a.env)
	sl := r.newSlot(0)
	sl.begin(0)
	j := sl.execute(t.Context(), mine)
	if j.Outcome != jobs.Done || len(g.Objects(t)) != 2 {
		t.Fatalf("%+v, objects %v", j, keysOf(g.Objects(t)))
	}
	answer, err := a.source.next(t.Context(), &j.Record, false)
	if err != nil || answer.counts {
		t.Fatalf("a late result counts: %+v, %v; the first lease was %+v", answer, err, other.Leases)
	}
	sl.settle(t.Context(), j, answer.counts)
	if objects := keysOf(g.Objects(t)); len(objects) != 1 || r.duplicates != 1 {
		t.Errorf("left are %v, %d duplicates", objects, r.duplicates)
	}
}

// TestLeftBehind: what a command leaves in the background ends with it.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	a := newTask(t, newServer(t), fmt.Sprintf(`{"items": {"count": 1},
			"command": "sleep 1000 & echo $! > %s"}`, file), 0, 1)
	ran(t, a)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); ; runtime.Gosched() { // a kill takes a moment
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(until) {
			t.Fatal("a process of the command is still alive")
		}
	}
}

// TestSecrets: what the program needs to reach the store does not reach the command.
func TestSecrets(t *testing.T) {
	t.Parallel()
	a := newTask(t, newServer(t), `{"items": {"count": 1},
			"command": "[ -z \"$AWS_SECRET_ACCESS_KEY\" ] && [ \"$SCALEBENCH_TASK\" = id ] && [ \"$WANTED\" = yes ]",
				"pass_env": ["WANTED"]}`, 0, 1)
	a.env.Environ = append(a.env.Environ, "SCALEBENCH_TASK=id", "WANTED=yes")
	ran(t, a)
	if n := a.Find("jobs_done").Value; n != 1 {
		t.Errorf("the environment is another: %s", a.stderr.String())
	}
}

func TestFFmpeg(t *testing.T) {
	t.Parallel()
	workloadtest.NeedTool(t, "ffmpeg")
	g := s3test.Start(t)
	s := newServer(t)
	a := newTask(t, s, onGateway(g, `"stage": {"copies": 2, "make": "ffmpeg -v error -f lavfi`+
		` -i testsrc2=size=160x90:rate=24:duration=0.25 -c:v mpeg4 -threads 1 -f mp4 {out}"},
		"command": "ffmpeg -v error -nostdin -y -threads 1 -i {in} -c:v wmv2 -threads 1 {out}", "put": {"suffix": ".wmv",
			"keep": true}, "slots": 2`), 0, 1)
	ran(t, a)
	for name, r := range s.records(jobs.Done) {
		if r.Out < 1000 || r.CPU <= 0 || !strings.HasPrefix(g.Read(t, r.Output), "\x30\x26\xb2\x75") { // ASF
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := len(s.records(jobs.Done)); n != 2 {
		t.Errorf("%d are done\n%s", n, a.stderr.String())
	}
}

func TestDefaults(t *testing.T) {
	p, ok := Kind().New().(*Params)
	if !ok || p.slots() < 1 || p.slots() > runtime.NumCPU() {
		t.Errorf("%d slots of %d processors", p.slots(), runtime.NumCPU())
	}
	if p.Duration = unit.Duration(time.Minute); p.Estimate() != time.Minute {
		t.Errorf("Estimate() = %v", p.Estimate())
	}
}

// TestRequests: each request to the store counts, also those that fail and are made again.
func TestRequests(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	for i := range 6 {
		g.Write(t, fmt.Sprintf("in/%d", i), "text")
	}
	var refused sync.Map // the first attempts at each key
	url := s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if _, before := refused.LoadOrStore(r.URL.Path, true); !before && r.Method == http.MethodPut &&
			strings.Contains(r.URL.Path, "/out/") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		pass.ServeHTTP(w, r)
	})
	params := strings.Replace(onGateway(g, `"items": {"prefix": "in/"}, "function": "copy",
		"put": {"prefix": "out", "keep": true}`), g.URL, url, 1)
	a := newTask(t, newServer(t), params, 0, 1)
	ran(t, a)
	v := a.Values()
	for metric, want := range map[string]float64{"jobs_done": 6, "jobs_get_requests": 1, "jobs_put_requests": 2,
		"jobs_requests": 3, "jobs_retries": 6} {
		if v[metric] != want {
			t.Errorf("%s is %v, want %v", metric, v[metric], want)
		}
	}
}
