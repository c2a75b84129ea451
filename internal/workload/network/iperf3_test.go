package network

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

func needIperf3(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs for seconds; make test runs it")
	}
	_, err := workload.LookPath("iperf3", os.Environ())
	need(t, "scripts/deps.sh installs iperf3", err)
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReport reads real reports. Each test left out a second, so that the
// first interval that counts claims to be longer than it is.
func TestReport(t *testing.T) {
	type line struct {
		Metric      string
		Rate        float64
		Retransmits float64 // -1: not known
		Points      int
		Last        progress
	}
	tests := []struct {
		file          string
		receive, send bool
		want          []line
	}{
		{"iperf3-3.12-reverse.json", true, false, []line{
			{metricReceive, 5200412672 / 1.999985, -1, 5, progress{1999985 * time.Microsecond, 5200412672}},
		}},
		{"iperf3-3.12-bidir.json", true, true, []line{
			{metricReceive, 2311061504 / 1.999147, -1, 5, progress{1999147 * time.Microsecond, 2311061504}},
			{metricSend, 3521773462 / 2.000028, 2, 5, progress{1999147 * time.Microsecond, 3532390400}},
		}},
	}
	for _, tt := range tests {
		r, err := parseReport(read(t, tt.file))
		if err != nil {
			t.Fatal(err)
		}
		results, err := r.results(tt.receive, tt.send)
		if err != nil {
			t.Fatal(err)
		}
		var got []line
		for _, res := range results {
			l := line{res.metric, res.rate, -1, len(res.points), res.points[len(res.points)-1]}
			if res.retransmits != nil {
				l.Retransmits = *res.retransmits
			}
			got = append(got, l)
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(progress{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.file, diff)
		}
	}
}

func TestReportRefuses(t *testing.T) {
	bidir := string(read(t, "iperf3-3.12-bidir.json"))
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":          {"", "reading iperf3's report"},
		"empty":            {"{}", "no sum of this end"},
		"half a sum":       {`{"end": {"sum_received_bidir_reverse": {"bytes": 1, "seconds": 1}, "sum_sent": {"bytes": 1, "seconds": 1}}}`, "no sum of what was received"},
		"of one direction": {string(read(t, "iperf3-3.12-reverse.json")), "no sum of this end"},
		"nothing measured": {`{"end": {"sum_received_bidir_reverse": {"bytes": 0, "seconds": 1}}}`, "0 bytes"},
		"no interval sum":  {`{"end": {"sum_received_bidir_reverse": {"bytes": 1, "seconds": 1}}, "intervals": [{}]}`, "without a sum"},
		"goes back":        {strings.ReplaceAll(bidir, `"end": 1.500014`, `"end": 0.1`), "goes back"},
	} {
		r, err := parseReport([]byte(tt.text))
		if err == nil {
			_, err = r.results(true, true)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
	if err := complaint(read(t, "iperf3-3.12-refused.json"), nil); err == nil || err.Error() != "unable to connect to server: Connection refused" {
		t.Errorf("complaint() = %v, want what iperf3 says", err)
	}
}

func FuzzReport(f *testing.F) {
	for _, file := range []string{"reverse", "bidir", "send", "refused"} {
		// The part that is used alone: the fuzzer is slow with long inputs.
		r, err := parseReport(read(f, "iperf3-3.12-"+file+".json"))
		if err != nil {
			f.Fatal(err)
		}
		short, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(short)
	}
	f.Add([]byte(`{"intervals":[{"sum":{"end":1e300,"bytes":-1}}],"end":{"sum_sent":{},"sum_received":{"seconds":1e-308,"bytes":1e300}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseReport(text)
		if err != nil {
			return
		}
		for _, d := range [][2]bool{{true, false}, {false, true}, {true, true}} {
			results, err := r.results(d[0], d[1])
			if err != nil {
				continue
			}
			for _, res := range results {
				if !(res.rate > 0) {
					t.Errorf("a rate of %v", res.rate)
				}
				for i, p := range res.points[1:] {
					if before := res.points[i]; p.bytes < before.bytes || p.after < before.after {
						t.Errorf("progress goes back from %v to %v", before, p)
					}
				}
			}
		}
	})
}

func iperf3Params(p *Params) {
	p.Tool, p.Size, p.Duration, p.WarmUp = Iperf3, 0, unit.Duration(time.Second), new(unit.Duration(2*time.Second))
}

// TestIperf3 measures on loopback: pairs in which both are clients, a ring in
// which the client sends and receives, and a sink with a server for each.
func TestIperf3(t *testing.T) {
	needIperf3(t)
	h := hosts("a", "b", "c")
	t.Run("pair", func(t *testing.T) {
		a := newNode(t, h[0], "", h[1:2], h[1:2], iperf3Params)
		b := newNode(t, h[1], "", h[:1], h[:1], iperf3Params)
		mustRun(t, a, b)
		for _, n := range []*node{a, b} {
			n.check(t, metricReceive)
			n.checkIperf3(t)
		}
	})
	t.Run("both ways", func(t *testing.T) {
		change := func(p *Params) { iperf3Params(p); p.Shape, p.Direction = "ring", Both }
		a := newNode(t, h[0], "", h[1:2], nil, change)
		b := newNode(t, h[1], model.RoleServe, nil, h[:1], change)
		mustRun(t, a, b)
		a.check(t, metricReceive, metricSend)
		a.checkIperf3(t)
	})
	t.Run("sink", func(t *testing.T) {
		change := func(p *Params) { iperf3Params(p); p.Shape = "all_to_one" }
		sink := newNode(t, h[0], model.RoleServe, nil, h[1:], change)
		b := newNode(t, h[1], "", h[:1], nil, change)
		c := newNode(t, h[2], "", h[:1], nil, change)
		mustRun(t, sink, b, c)
		for _, n := range []*node{b, c} {
			n.check(t, metricSend)
			n.checkIperf3(t)
		}
		sink.checkNothing(t)
	})
}

// checkIperf3 checks that the scored part is where the clock says: after the
// idle second and the one that iperf3 leaves out.
func (n *node) checkIperf3(t *testing.T) {
	t.Helper()
	for m, points := range n.record.Readings {
		if got := points[0].After; got < 2*time.Second || got > 2500*time.Millisecond {
			t.Errorf("%s: progress of %s begins after %v, want little more than 2s", n.env.Node, m, got)
		}
	}
	if diff := cmp.Diff([]int{0}, n.record.ExitCodes); diff != "" {
		t.Errorf("%s: exit codes (-want +got):\n%s", n.env.Node, diff)
	}
	if out := n.env.Stdout.(interface{ String() string }).String(); !strings.Contains(out, `"sum_received"`) {
		t.Errorf("%s: the report was not kept: %.80q", n.env.Node, out)
	}
}

// TestIperf3PeerEnds ends the server's node in mid-test.
func TestIperf3PeerEnds(t *testing.T) {
	needIperf3(t)
	for i, d := range []string{Receive, Send} {
		t.Run(d, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			testIperf3PeerEnds(t, hostsIn(13+i, "a", "b"), d)
		})
	}
}

func testIperf3PeerEnds(t *testing.T, h []model.Host, d string) {
	change := func(p *Params) {
		iperf3Params(p)
		p.Duration, p.Stall, p.Direction = unit.Duration(time.Hour), unit.Duration(500*time.Millisecond), d
	}
	a := newNode(t, h[0], "", h[1:], nil, change)
	b := newNode(t, h[1], model.RoleServe, nil, h[:1], change)
	ctx, kill := context.WithCancel(t.Context())
	left, right := launch(t.Context(), t, a), launch(ctx, t, b)
	close(left.begin)
	close(right.begin)
	heard := a.params.state.session.echoes[0]
	eventually(t, func() bool { return heard.heard.Load() > int64(1500*time.Millisecond) })
	kill()
	if err := <-right.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the other Run() = %v, want the end of its context", err)
	}
	killed := time.Now()
	err := <-left.ended
	if err == nil || !strings.Contains(err.Error(), "iperf3 with b ("+h[1].Address+")") {
		t.Errorf("Run() = %v, want an error that names b", err)
	}
	if took := time.Since(killed); took > 2*time.Second {
		t.Errorf("it took %v to notice, want little more than 500ms", took)
	}
	if len(a.record.Samples) > 0 {
		t.Errorf("samples %v of a failed task, want none", a.record.Samples)
	}
}

// eventually waits for a state that no event announces.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it did not happen within 20s")
		}
	}
}

func TestIperf3Missing(t *testing.T) {
	h := hosts("a", "b")
	n := newNode(t, h[0], "", h[1:], nil, iperf3Params)
	n.env.Environ = []string{"PATH=" + t.TempDir()}
	if err := n.params.Prepare(t.Context(), n.env); err == nil || !strings.Contains(err.Error(), "apt-get install iperf3") {
		t.Errorf("Prepare() = %v, want it to say how to install", err)
	}
}

// TestIperf3PortTaken has something else on the port of the server.
func TestIperf3PortTaken(t *testing.T) {
	needIperf3(t)
	h := hosts("a", "b")
	l, err := net.Listen("tcp", "127.0.7.1:7520")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	n := newNode(t, h[0], model.RoleServe, nil, h[1:], iperf3Params)
	if err := n.params.Prepare(t.Context(), n.env); err == nil || !strings.Contains(err.Error(), "port 7520") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("Prepare() = %v, want it to name the port and the cause", err)
	}
}

func TestIperf3Port(t *testing.T) {
	for _, tt := range []struct {
		port, slot, k int
		want          int // 0: an error
	}{
		{7420, 0, 0, 7520}, {7420, 0, 3, 7820}, {7420, 99, 0, 7619}, {7420, 100, 0, 0}, {65000, 0, 6, 0},
	} {
		got, err := iperf3Port(tt.port, model.Host{Node: "a", Slot: tt.slot}, tt.k)
		if got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("iperf3Port(%d, slot %d, %d) = %d, %v, want %d", tt.port, tt.slot, tt.k, got, err, tt.want)
		}
	}
}

// TestLastInterval has a report without its last interval, as a busy machine
// leaves it: the sum takes its place.
func TestLastInterval(t *testing.T) {
	r, err := parseReport(read(t, "iperf3-3.12-reverse.json"))
	if err != nil {
		t.Fatal(err)
	}
	r.Intervals = r.Intervals[:len(r.Intervals)-1]
	results, err := r.results(true, false)
	if err != nil {
		t.Fatal(err)
	}
	points := results[0].points
	if got, want := points[len(points)-1], (progress{1999985 * time.Microsecond, 5200412672}); got != want || len(points) != 5 {
		t.Errorf("the last of %d points is %v, want the last of 5 to be %v", len(points), got, want)
	}
}

func TestScoredPart(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, tt := range map[string]struct{ begun, ended, want time.Duration }{
		"in time":      {10 * time.Millisecond, 3100 * time.Millisecond, 1010 * time.Millisecond},
		"noticed late": {300 * time.Millisecond, 3100 * time.Millisecond, 1100 * time.Millisecond},
	} {
		run := clientRun{begun: at.Add(tt.begun), ended: at.Add(tt.ended)}
		if got := run.scored(time.Second, 2*time.Second).Sub(at); got != tt.want {
			t.Errorf("%s: scored() = %v, want %v", name, got, tt.want)
		}
	}
}
