package cloudwatch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/test/servers"
)

// truth is what a test sent of two volumes, and what is to be read of it.
type truth struct {
	spec Spec
	data []types.MetricDatum
	want []telemetry.Recording
}

// makeTruth draws 50 minutes of a volume that bursts, and of one that has no credits but is on an
// instance. Of the first some minutes are missing, and one of its metrics lacks one more.
func makeTruth(r *rand.Rand, begin time.Time) truth {
	const minutes, gapAt, gapSize, lacks = 50, 20, 5, 40
	t := truth{spec: Spec{Volumes: []string{"vol-0a1", "i-0f/vol-0b2"}, From: begin.Add(-20 * time.Second),
		To: begin.Add(minutes*time.Minute + 59*time.Second), Region: "eu-west-1",
		backoff: time.Millisecond, silence: 10 * time.Second}}
	for v, id := range []string{"vol-0a1", "vol-0b2"} {
		want := telemetry.Recording{Source: "cloudwatch", Service: id, Rates: make(map[telemetry.Measure]telemetry.Numbers)}
		for minute := range minutes {
			at := begin.Add(time.Duration(minute) * time.Minute)
			if v == 0 && minute >= gapAt && minute < gapAt+gapSize {
				continue
			}
			want.Begin, want.End = append(want.Begin, float64(at.Unix())), append(want.End, float64(at.Unix())+60)
			add := func(name string, m telemetry.Measure, value, rate float64) {
				if v == 0 && minute == lacks && name == "VolumeWriteBytes" {
					rate = math.NaN()
				} else {
					t.data = append(t.data, datum("VolumeId", id, name, at, value))
				}
				want.Rates[m] = append(want.Rates[m], rate)
			}
			for _, sum := range ofVolume[:4] {
				value := float64(r.IntN(1e9))
				add(sum.name, sum.measure, value, value/60)
			}
			idle := float64(r.IntN(61))
			add("VolumeIdleTime", telemetry.Idle, idle, idle/60)
			exceeded := float64(r.IntN(2))
			add("VolumeIOPSExceededCheck", telemetry.ExceededOps, exceeded, exceeded)
			if v == 0 {
				balance := float64(r.IntN(101))
				add("BurstBalance", telemetry.Credits, balance, balance/100)
				continue
			}
			consumed := float64(r.IntN(1e6))
			add("VolumeConsumedReadWriteOps", telemetry.ConsumedOps, consumed, consumed/60)
			t.data = append(t.data, datum("InstanceId", "i-0f", "InstanceEBSIOPSExceededCheck", at, exceeded))
			want.Rates[telemetry.NodeExceededOps] = append(want.Rates[telemetry.NodeExceededOps], exceeded)
		}
		if v == 0 {
			at := begin.Add((gapAt + 1) * time.Minute)
			want.Remarks = []telemetry.Remark{{Code: telemetry.Gap, Count: gapSize, At: float64(at.Unix())}}
		} else {
			want.Node = "i-0f"
		}
		for _, check := range []telemetry.Measure{telemetry.ExceededOps, telemetry.NodeExceededOps} {
			met := 0
			for _, v := range want.Rates[check] {
				met += int(v)
			}
			if met > 0 {
				want.Remarks = append(want.Remarks, telemetry.Remark{Code: ChecksMet, Of: string(check), Count: met})
			}
		}
		t.want = append(t.want, want)
	}
	return t
}

var equal = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)}

// TestMoto reads from a real server of the query protocol, which starts slowly.
func TestMoto(t *testing.T) {
	m := startMoto(t)
	setAccount(t, "known")
	t.Run("many volumes", func(t *testing.T) { testManyVolumes(t, m) })
	t.Run("known series", func(t *testing.T) { testKnownSeries(t, m) })
}

// testKnownSeries reads what was sent. Its last case leaves the server demanding credentials.
func testKnownSeries(t *testing.T, m *moto) {
	truth := makeTruth(rand.New(rand.NewPCG(3, 27)), time.Now().UTC().Truncate(time.Hour).Add(-4*time.Hour))
	for chunk := range slices.Chunk(truth.data, 900) {
		m.put(t, truth.spec, chunk)
	}
	spec := truth.spec
	spec.Endpoint = m.proxy

	for _, c := range []struct {
		name string
		set  func()
		// calls are all that reach the server: repeated ones and those of pages, too.
		calls   int
		wantErr error
		says    string
	}{
		{name: "a known series", set: func() {}, calls: 1},
		{name: "two pages", set: func() { m.paged = true }, calls: 2},
		{name: "a part only", set: func() { m.paged, m.torn = true, true }, calls: 1,
			wantErr: model.ErrUnavailable, says: `VolumeReadOps of vol-0a1 only ("PartialData")`},
		{name: "throttled twice", set: func() {
			m.fault = func(w http.ResponseWriter, call int) bool {
				if call <= 2 {
					throttle(w)
				}
				return call <= 2
			}
		}, calls: 3},
		{name: "throttled for good", set: func() {
			m.fault = func(w http.ResponseWriter, _ int) bool { throttle(w); return true }
		}, calls: attempts, wantErr: model.ErrUnavailable, says: "throttled 5 attempts: an account may make 50 calls"},
		{name: "unknown credentials", set: func() { m.demandCredentials(t) }, calls: 1,
			wantErr: model.ErrDenied, says: "cloudwatch:GetMetricData"},
	} {
		m.reset()
		c.set()
		got, err := Read(t.Context(), spec)
		if calls := int(m.calls.Load()); calls != c.calls {
			t.Errorf("%s: %d calls, want %d", c.name, calls, c.calls)
		}
		if c.wantErr != nil || c.says != "" {
			if err == nil || c.wantErr != nil && !errors.Is(err, c.wantErr) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %v with %q", c.name, err, c.wantErr, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(truth.want, got, equal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// testManyVolumes: more than 500 queries are several calls, and each value is its volume's.
func testManyVolumes(t *testing.T, m *moto) {
	begin := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	spec := Spec{From: begin, To: begin.Add(time.Minute), Region: "eu-west-1", Endpoint: m.proxy}
	var data []types.MetricDatum
	for i := range 60 {
		id := fmt.Sprintf("vol-%x", 1000+i)
		spec.Volumes = append(spec.Volumes, id)
		data = append(data, datum("VolumeId", id, "VolumeReadOps", begin, float64(60*i)))
	}
	m.put(t, spec, data)
	got, err := Read(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2: one has at most 500 queries", n)
	}
	for i, r := range got {
		want := map[telemetry.Measure]telemetry.Numbers{telemetry.ReadOps: {float64(i)}}
		if diff := cmp.Diff(want, r.Rates); diff != "" || r.Service != spec.Volumes[i] {
			t.Errorf("%s (-want +got):\n%s", r.Service, diff)
		}
	}
	spec.Volumes = []string{"vol-3e8", "vol-dead"}
	_, err = Read(t.Context(), spec)
	if !errors.Is(err, model.ErrNotFound) || !strings.Contains(err.Error(), "no data of vol-dead") {
		t.Errorf("a volume without data: %v", err)
	}
}

// TestNoServer: whatever does not answer, Read ends, soon and with the reason.
func TestNoServer(t *testing.T) {
	begin := time.Now().UTC().Add(-time.Hour)
	silent := servers.Serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for _, c := range []struct {
		name, address, key, says string
		wantErr                  error
	}{
		{"refused", servers.FreeAddress(t), "key", "check region, endpoint and network", model.ErrUnavailable},
		{"silent", silent, "key", "check region, endpoint and network", model.ErrUnavailable},
		{"no credentials", silent, "", "set AWS_PROFILE", model.ErrDenied},
	} {
		setAccount(t, c.key)
		spec := Spec{Volumes: []string{"vol-1"}, From: begin, To: begin.Add(time.Hour), Region: "eu-west-1",
			Endpoint: "http://" + c.address, silence: 100 * time.Millisecond, backoff: time.Millisecond}
		start := time.Now()
		_, err := Read(t.Context(), spec)
		if !errors.Is(err, c.wantErr) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", c.name, took)
		}
	}
	setAccount(t, "key")
	spec := Spec{Volumes: []string{"vol-1"}, From: begin, To: begin.Add(time.Hour)}
	if _, err := Read(t.Context(), spec); !errors.Is(err, model.ErrUsage) {
		t.Errorf("no region: %v", err)
	}
}

// TestGrid: only whole periods that CloudWatch keeps.
func TestGrid(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 30, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		name           string
		from, to       time.Time
		period, wantOf time.Duration
		begin          string
		slots          int
		says           string
	}{
		{"minutes, whole ones only", ago(time.Hour), ago(time.Minute), 0, time.Minute, "2026-11-27T11:01:00Z", 58, ""},
		{"not after now", ago(10 * time.Minute), now.Add(time.Hour), 0, time.Minute, "2026-11-27T11:51:00Z", 9, ""},
		{"five minutes, complete", ago(time.Hour), now, 5 * time.Minute, 5 * time.Minute, "2026-11-27T11:05:00Z", 10, ""},
		{"sixteen days ago", ago(16 * day), ago(16*day - time.Hour), 0, 5 * time.Minute, "2026-11-11T12:05:00Z", 11, ""},
		{"a hundred days ago", ago(100 * day), ago(99 * day), 0, time.Hour, "2026-08-19T13:00:00Z", 23, ""},
		{"sixteen days ago by the minute", ago(16 * day), now, time.Minute, 0, "", 0, "choose a multiple of 5m0s"},
		{"a hundred days ago by five minutes", ago(100 * day), now, 5 * time.Minute, 0, "", 0, "choose a multiple of 1h0m0s"},
		{"two years ago", ago(730 * day), now, 0, 0, "", 0, "455 days"},
		{"seconds", ago(time.Hour), now, 10 * time.Second, 0, "", 0, "no periods of 10s"},
		{"seven minutes", ago(time.Hour), now, 7 * time.Minute, 0, "", 0, "divides a day"},
		{"nothing whole", ago(70 * time.Second), ago(20 * time.Second), 0, 0, "", 0, "no whole period"},
		{"backwards", now, ago(time.Hour), 0, 0, "", 0, "no whole period"},
	} {
		g, err := Spec{From: c.from, To: c.to, Period: c.period, now: now}.grid()
		if c.says != "" {
			if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", c.name, err, c.says)
			}
			continue
		}
		if err != nil || stamp(g.begin) != c.begin || g.slots != c.slots || g.period != c.wantOf {
			t.Errorf("%s: %v %d × %v, %v; want %v %d × %v", c.name, stamp(g.begin), g.slots, g.period, err,
				c.begin, c.slots, c.wantOf)
		}
	}
}

// TestFill: what CloudWatch answers fits what was asked, or is refused.
func TestFill(t *testing.T) {
	begin := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	g := grid{begin: begin, period: time.Minute, slots: 10}
	for _, c := range []struct {
		name  string
		at    time.Time
		value float64
		says  string
	}{
		{"a time between", begin.Add(90 * time.Second), 1, "with 1 at 2026-11-27T12:01:30Z; there is no such"},
		{"too early", begin.Add(-time.Minute), 1, "no such period"},
		{"too late", begin.Add(10 * time.Minute), 1, "no such period"},
		{"below 0", begin, -1, "VolumeReadOps of vol-1 with -1"},
		{"no number", begin, math.NaN(), "with NaN"},
		{"infinite", begin, math.Inf(1), "with +Inf"},
	} {
		r := g.recording()
		r.Rates[telemetry.ReadOps] = make(telemetry.Numbers, 10)
		err := g.fill(query{metric: ofVolume[0], id: "vol-1", to: &r},
			types.MetricDataResult{Timestamps: []time.Time{c.at}, Values: []float64{c.value}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

// TestSettle: sums of five minutes are not taken for those of one, and periods that are long
// because of their age are remarked.
func TestSettle(t *testing.T) {
	begin := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	read := func(g grid, slots ...int) ([]telemetry.Remark, error) {
		r := g.recording()
		values := slices.Repeat(telemetry.Numbers{math.NaN()}, g.slots)
		for _, slot := range slots {
			values[slot] = 1
		}
		r.Rates[telemetry.ReadOps] = values
		err := g.settle(&r)
		return r.Remarks, err
	}
	minutes := grid{begin: begin, period: time.Minute, slots: 20}
	_, err := read(minutes, 0, 5, 10, 15)
	if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "every 300 s") {
		t.Errorf("a value in each fifth minute: %v", err)
	}
	if _, err := read(minutes, 0, 5, 6, 15); err != nil {
		t.Errorf("a value in some minutes: %v", err)
	}
	got, err := read(grid{begin: begin, period: 5 * time.Minute, slots: 2, old: true}, 0, 1)
	if diff := cmp.Diff([]telemetry.Remark{{Code: NoMinutes, Count: 5}}, got); err != nil || diff != "" {
		t.Errorf("%v; remarks (-want +got):\n%s", err, diff)
	}
}

// TestCaveats: each remark has a text.
func TestCaveats(t *testing.T) {
	r := telemetry.Recording{Service: "vol-1", Remarks: []telemetry.Remark{{Code: NoMinutes, Count: 5},
		{Code: ChecksMet, Of: "exceeded_ops", Count: 1}}}
	list := r.Caveats()
	Caveats.Fill(caveat.Subject{}, list)
	want := []caveat.Text{"vol-1: CloudWatch keeps minutes for 15 days; periods have 5 minutes and hide what is shorter",
		"vol-1: exceeded_ops counts each minute in which a limit was met as a whole one, in 1 period; " +
			"the time is at most that"}
	if diff := cmp.Diff(want, list.Texts()); diff != "" || len(Caveats.Check()) > 0 {
		t.Errorf("%q; texts (-want +got):\n%s", Caveats.Check(), diff)
	}
}

// TestVolumes: ids that are none are refused before anybody is asked.
func TestVolumes(t *testing.T) {
	now := time.Now()
	for _, volumes := range [][]string{{"sda"}, {"vol-xyz"}, {"i-1/"}, {"vol-1/i-1"}} {
		_, err := Read(t.Context(), Spec{Volumes: volumes, From: now.Add(-time.Hour), To: now, Region: "x"})
		if !errors.Is(err, model.ErrUsage) {
			t.Errorf("%q: %v, want ErrUsage", volumes, err)
		}
	}
}
