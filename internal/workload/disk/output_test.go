package disk

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// documents cuts an output into its parsed documents and the words between,
// in pieces of this many bytes, as pipes do.
func documents(t testing.TB, text []byte, piece int) ([]*document, string) {
	t.Helper()
	var docs []*document
	var words bytes.Buffer
	s := &splitter{other: &words, take: func(text []byte) {
		d, err := parse(text)
		if err != nil {
			t.Errorf("parse() = %v", err)
			return
		}
		docs = append(docs, d)
	}}
	for ; len(text) > 0; text = text[min(piece, len(text)):] {
		if _, err := s.Write(text[:min(piece, len(text))]); err != nil {
			t.Fatal(err)
		}
	}
	return docs, words.String()
}

// TestParse reads outputs of fio 3.33, whole: figures of each document.
func TestParse(t *testing.T) {
	type figures struct{ Read, ReadMS, Write, WriteMS int64 }
	tests := []struct {
		file, words string
		want        []figures
	}{
		{"buffered-fsync.txt", "", []figures{{0, 0, 849608704, 392}, {0, 0, 1073741824, 766}}},
		{"terminated.txt", "fio: terminating on signal 15\n", []figures{{81920, 394, 0, 0}, {184320, 895, 0, 0}, {192512, 941, 0, 0}}},
		{"mixed-ramp-3-jobs.txt", "", []figures{
			{1449984, 392, 626688, 392}, {3293184, 892, 1429504, 892}, // the ramp
			{1843200, 499, 811008, 499}, {3690496, 1000, 1613824, 1000}, {5529600, 1499, 2408448, 1499},
			{7372800, 1999, 3207168, 1999}, {7372800, 2003, 3207168, 2003}}},
	}
	for _, tt := range tests {
		for _, piece := range []int{1, 7, 4096, 1 << 20} {
			docs, words := documents(t, read(t, tt.file), piece)
			var got []figures
			for _, d := range docs {
				got = append(got, figures{d.job.Read.Bytes, d.job.Read.Runtime, d.job.Write.Bytes, d.job.Write.Runtime})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || words != tt.words {
				t.Errorf("%s in pieces of %d: words %q, want %q; documents (-want +got):\n%s", tt.file, piece, words, tt.words, diff)
			}
		}
	}
}

func TestSplitterSurvives(t *testing.T) {
	tests := []struct {
		name, text string
		docs       int
		words      string
	}{
		{"words before and after", "fio: hello\n{\n \"jobs\": [{}]\n}\nbye\n", 1, "fio: hello\nbye\n"},
		{"cut off by the next", "{\n \"jobs\": [{\n{\n \"jobs\": [{}]\n}\n", 1, ""},
		{"never ends", "{\n \"jobs\": [{}]\n", 0, ""},
		{"braces in a string", "{\n \"jobs\": [{\"a\": \"}{\"}]\n}\n", 1, ""},
		{"Windows", "{\r\n \"jobs\": [{}]\r\n}\r\n", 1, ""},
	}
	for _, tt := range tests {
		docs, words := documents(t, []byte(tt.text), 3)
		if len(docs) != tt.docs || words != tt.words {
			t.Errorf("%s: %d documents and %q, want %d and %q", tt.name, len(docs), words, tt.docs, tt.words)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{fio}", "no jobs": "{}", "two groups": `{"jobs": [{}, {}]}`,
		"a count below zero": `{"jobs": [{"read": {"io_bytes": -1}}]}`, "text for a number": `{"jobs": [{"error": "5"}]}`,
	} {
		if d, err := parse([]byte(text)); err == nil {
			t.Errorf("%s: parse() = %+v, want an error", name, d)
		}
	}
}

// testPublisher is a publisher after the end: all readings are of the past.
func testPublisher(plan settings, r *workloadtest.Record, began time.Time) *publisher {
	return &publisher{plan: plan, report: r, began: began, now: func() time.Time { return began.Add(1e6 * time.Hour) }}
}

// TestPublisher replays real outputs as if Run had been called 100 ms before the
// measurement began, by the clock of the machine.
func TestPublisher(t *testing.T) {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	tests := []struct {
		name, file, params, metric string
		began                      int64 // ms since 1970
		late                       map[int]time.Duration
		want                       []point
	}{
		{name: "ramp is left out", file: "mixed-ramp-3-jobs.txt", params: `{"operation": "mixed", "ramp": "1s", "block_size": "4KiB"}`,
			metric: "disk_read_throughput", began: 1795263259046, want: []point{
				{ms(100), 0}, {ms(599), 1843200}, {ms(1100), 3690496}, {ms(1599), 5529600}, {ms(2099), 7372800}, {ms(2103), 7372800}}},
		{name: "operations", file: "mixed-ramp-3-jobs.txt", params: `{"operation": "mixed", "ramp": "1s", "block_size": "4KiB"}`,
			metric: "disk_write_iops", began: 1795263259046, want: []point{
				{ms(100), 0}, {ms(599), 198}, {ms(1100), 394}, {ms(1599), 588}, {ms(2099), 783}, {ms(2103), 783}}},
		{name: "the last document was printed late", file: "buffered-fsync.txt", params: `{"preset": "paper"}`,
			metric: "disk_write_throughput", began: 1795263261399, want: []point{{ms(100), 0}, {ms(492), 849608704}, {ms(866), 1073741824}}},
		{name: "a late arrival does not move a reading", file: "terminated.txt", params: `{"operation": "read"}`, late: map[int]time.Duration{0: ms(700)},
			metric: "disk_read_throughput", began: 1795263262453, want: []point{{ms(99), 0}, {ms(493), 81920}, {ms(994), 184320}, {ms(1040), 192512}}},
		{name: "the clock was set: arrivals count", file: "terminated.txt", params: `{"operation": "read"}`, late: map[int]time.Duration{0: ms(3600100), 1: ms(3600000), 2: ms(3600000)},
			metric: "disk_read_throughput", began: 1795263262453, want: []point{{ms(3600099), 0}, {ms(3600493), 81920}, {ms(3600994), 184320}, {ms(3601040), 192512}}},
	}
	for _, tt := range tests {
		r := &workloadtest.Record{T: t}
		m := testPublisher(params(t, tt.params).settings(), r, time.UnixMilli(tt.began))
		docs, _ := documents(t, read(t, tt.file), 4096)
		for i, d := range docs {
			m.take(d, time.UnixMilli(d.printed).Add(tt.late[i]))
		}
		if _, err := m.finish(t.Context(), docs[len(docs)-1].job); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, points(r, tt.metric)); diff != "" {
			t.Errorf("%s: progress of %s (-want +got):\n%s", tt.name, tt.metric, diff)
		}
	}
}

// TestPublisherOnABusyMachine: documents are printed late, by whatever a machine
// without a free processor makes of it. No point lies ahead of the task's clock,
// and the distance of all of them is what fio's clock says.
func TestPublisherOnABusyMachine(t *testing.T) {
	run := func(t *testing.T, seconds int, late func(document int) time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			const ramp = 900 // ms
			began := time.Now()
			r := &workloadtest.Record{T: t, Start: began} // it holds what is published to the clock
			m := &publisher{plan: params(t, `{"ramp": "500ms"}`).settings(), report: r, began: began, now: time.Now}
			var last job
			for i := 1; i <= 2*seconds; i++ {
				runtime := int64(500 * i)
				last = job{Write: direction{Bytes: 1000 * runtime, Runtime: runtime, Total: 1, Latency: latency{N: 1}}}
				due := began.Add(time.Duration(ramp+runtime)*time.Millisecond + late(i))
				if err := workload.Pause(t.Context(), max(0, time.Until(due))); err != nil { // they come in order
					t.Fatal(err)
				}
				m.take(&document{printed: time.Now().UnixMilli(), job: last}, time.Now())
			}
			if _, err := m.finish(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			all := points(r, "disk_write_throughput")
			if n := len(all); n != 2*seconds+1 || all[n-1].Value != float64(last.Write.Bytes) || all[n-1].After-all[0].After != time.Duration(seconds)*time.Second {
				t.Errorf("progress %v; want %d points over %d s", all, 2*seconds+1, seconds)
			}
		})
	}
	// Those of the report: three are late alike, the last two come together.
	run(t, 3, func(i int) time.Duration {
		return time.Duration([]int{414, 412, 416, 414, 500, 14}[i-1]) * time.Millisecond
	})
	rng := rand.New(rand.NewPCG(3, 33))
	for range 200 {
		most := time.Duration(rng.Int64N(int64(900 * time.Millisecond)))
		run(t, 2+rng.IntN(5), func(int) time.Duration { return time.Duration(rng.Float64() * float64(most)).Round(time.Millisecond) })
	}
}

func TestPublisherNeverGoesBack(t *testing.T) {
	r := &workloadtest.Record{T: t}
	m := testPublisher(params(t, `{}`).settings(), r, time.UnixMilli(0))
	at := func(ms, runtime, bytes int64) {
		d := &document{printed: ms, job: job{Write: direction{Bytes: bytes, Runtime: runtime, Total: 1, Latency: latency{N: 1}}}}
		m.take(d, time.UnixMilli(ms))
	}
	at(1000, 500, 100)
	at(1100, 600, 50)  // fewer bytes
	at(1100, 100, 200) // an earlier moment
	at(1600, 1100, 300)
	if _, err := m.finish(t.Context(), job{}); err != nil { // which is not after the last one
		t.Fatal(err)
	}
	want := []point{{500 * time.Millisecond, 0}, {time.Second, 100}, {1600 * time.Millisecond, 300}}
	if diff := cmp.Diff(want, points(r, "disk_write_throughput")); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// TestMeterDrain: with several operations in flight, what fio completes after
// the planned end does not count, unless nothing else is known of the end.
func TestMeterDrain(t *testing.T) {
	write := func(runtime, bytes int64) job {
		return job{Write: direction{Bytes: bytes, Runtime: runtime, Total: 1, Latency: latency{N: 1}}}
	}
	tests := []struct {
		name, params string
		jobs         []job // the last is fio's final word
		want         reading
	}{
		{"in flight", `{"depth": 8, "duration": "2s"}`, []job{write(900, 90), write(1900, 190), write(1995, 205), write(2001, 208)},
			reading{[2]int64{0, 190}, 1900 * time.Millisecond}},
		{"one at a time", `{"duration": "2s"}`, []job{write(900, 90), write(1900, 190), write(2001, 200)},
			reading{[2]int64{0, 200}, 2001 * time.Millisecond}},
		{"silent before the end", `{"depth": 8, "duration": "9s"}`, []job{write(900, 90), write(7900, 97), write(9001, 98)},
			reading{[2]int64{0, 98}, 9001 * time.Millisecond}},
		{"a fixed amount", `{"depth": 8, "duration": "0s"}`, []job{write(900, 90), write(2001, 208)},
			reading{[2]int64{0, 208}, 2001 * time.Millisecond}},
	}
	for _, tt := range tests {
		r := &workloadtest.Record{T: t}
		m := testPublisher(params(t, tt.params).settings(), r, time.UnixMilli(0))
		for _, j := range tt.jobs {
			m.take(&document{printed: 100 + j.runtime(), job: j}, time.UnixMilli(100+j.runtime()))
		}
		got, err := m.finish(t.Context(), tt.jobs[len(tt.jobs)-1])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(reading{})); diff != "" {
			t.Errorf("%s: finish() (-want +got):\n%s", tt.name, diff)
		}
		all := points(r, "disk_write_throughput")
		want := point{100*time.Millisecond + tt.want.runtime, float64(tt.want.bytes[1])}
		if len(all) == 0 || all[len(all)-1] != want {
			t.Errorf("%s: progress %v, want it to end with %v", tt.name, all, want)
		}
	}
}

// TestPublish compares the samples with what fio printed, and the histogram
// with fio's own percentiles.
func TestPublish(t *testing.T) {
	docs, _ := documents(t, read(t, "mixed-ramp-3-jobs.txt"), 4096)
	last, r := docs[len(docs)-1].job, &workloadtest.Record{T: t}
	s := params(t, `{"operation": "mixed", "block_size": "4KiB", "duration": "2s"}`).settings()
	if err := checkComplete(s, last); err != nil {
		t.Fatal(err)
	}
	if err := publish(r, s, map[string]string{"filesystem": "ext4"}, last, readingOf(last)); err != nil {
		t.Fatal(err)
	}
	l := last.Read.Latency
	for metric, want := range map[string]float64{
		"disk_read_throughput": 7372800 / 2.003, "disk_read_iops": 1800 / 2.003, "disk_write_throughput": 3207168 / 2.003, "disk_write_iops": 783 / 2.003,
		"disk_read_latency_mean": l.Mean / 1000, "disk_read_latency_p50": l.Percentiles["50.000000"] / 1000, "disk_read_latency_p999": l.Percentiles["99.900000"] / 1000,
	} {
		if got := r.Find(metric).Value; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s = %v, want %v", metric, got, want)
		}
	}
	if got := r.Find("disk_size"); !got.Info || got.Labels["filesystem"] != "ext4" {
		t.Errorf("disk_size = %+v, want the file system in a label, for information", got)
	}
	h, err := hdrhistogram.Decode([]byte(r.FindHistogram("disk_read_latency").Encoded))
	if err != nil {
		t.Fatal(err)
	}
	if h.TotalCount() != l.N {
		t.Errorf("the histogram counts %d, want %d", h.TotalCount(), l.N)
	}
	for q, key := range map[float64]string{50: "50.000000", 99: "99.000000"} {
		if got, want := float64(h.ValueAtQuantile(q)), l.Percentiles[key]; math.Abs(got/want-1) > 0.017 {
			t.Errorf("p%v of the histogram = %v ns, want %v as fio says", q, got, want)
		}
	}
}

func TestCheckComplete(t *testing.T) {
	docs, _ := documents(t, read(t, "buffered-fsync.txt"), 4096)
	last := docs[len(docs)-1].job
	tests := []struct{ name, params, want string }{
		{"complete", `{"preset": "paper", "size": "1GiB"}`, ""},
		{"less than the size", `{"preset": "paper", "size": "2GiB"}`, "1073741824 of 2147483648 bytes"},
		{"less than the time", `{"duration": "1s"}`, "for 766ms of 1s"},
		{"one direction only", `{"operation": "mixed", "size": "1GiB", "duration": "0s"}`, "complete a single read"},
	}
	for _, tt := range tests {
		err := checkComplete(params(t, tt.params).settings(), last)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: checkComplete() = %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := checkComplete(settings{duration: time.Second}, job{}); err == nil {
		t.Error("checkComplete(nothing) = nil, want an error")
	}
}

// FuzzOutput: whatever fio prints, nothing panics, and what is reported is
// possible.
func FuzzOutput(f *testing.F) {
	// Small ones: the real outputs are read by the other tests, and would take
	// the fuzzer a minute each to shorten.
	side := func(bytes, ms string) string {
		return `{"io_bytes": ` + bytes + `, "runtime": ` + ms + `, "total_ios": 9, "clat_ns": {"N": 9, "mean": 8.5,
"percentile": {"50.000000": 7, "99.000000": 8, "99.900000": 9}, "bins": {"7": 5, "9": 4}}}`
	}
	for _, ms := range []string{"500", "1000", "30001"} {
		f.Add([]byte("words\n{\n\"timestamp_ms\": 1795263261892, \"jobs\": [{\"error\": 0, \"read\": " + side("81920", ms) + ", \"write\": " + side("4096", ms) + "}]\n}\n"))
	}
	f.Add([]byte("{\n\"jobs\":[{\"read\":{\"io_bytes\":1,\"runtime\":1,\"clat_ns\":{\"N\":1,\"bins\":{\"x\":-1}}}}]\n}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &workloadtest.Record{T: t}
		s := params(t, `{"operation": "mixed", "ramp": "1s"}`).settings()
		m := testPublisher(s, r, time.UnixMilli(1795263261000))
		var words bytes.Buffer
		var last *document
		split := &splitter{other: &words, take: func(text []byte) {
			d, err := parse(text)
			if err != nil {
				return
			}
			m.take(d, m.began.Add(time.Hour))
			last = d
			if checkComplete(s, d.job) == nil {
				_ = publish(r, s, nil, d.job, readingOf(d.job)) // an error is an answer
			}
		}}
		if _, err := split.Write(text); err != nil {
			return
		}
		if last != nil {
			if _, err := m.finish(t.Context(), last.job); err != nil {
				t.Error(err)
			}
		}
		for metric, points := range r.Readings {
			for i, p := range points {
				if p.After < 0 || p.Value < 0 || i > 0 && (p.After <= points[i-1].After || p.Value < points[i-1].Value) {
					t.Errorf("%s: point %d of %v is impossible", metric, i, points)
				}
			}
		}
		for _, s := range r.Samples {
			if s.Value < 0 || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				t.Errorf("%s = %v", s.Metric, s.Value)
			}
		}
	})
}
