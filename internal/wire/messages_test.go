package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

const run = model.RunID("01J0000000000000000000TEST")

var (
	now     = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	attempt = Attempt{Task: "t", Attempt: 1}
	task    = Assignment{
		Run: run, Step: "s", Task: "t", Attempt: 1, Node: "n", NodeKey: "U", Barrier: true,
		Spec: model.Spec{Kind: "cpu", Timeout: time.Second}, ReadyTimeout: time.Second, Issued: now, Expires: now,
	}
	order   = Order{Kind: OrderStart, Run: run, Step: "s", Attempt: 1, At: now}
	look    = Order{Kind: OrderLook, Run: run, Inquiry: "i", Needs: []Need{{Program: "fio", Path: "/bin"}, {Variable: "KEY"}}}
	missing = Missing{Node: "n", Inquiry: "i", Needs: []int{1}}
	read    = Readings{Node: "n", Began: now, Host: []model.HostSeries{{Metric: "volume.data.reads", Unit: "1",
		Counter: true, Offsets: []int64{1e9, 2e9}, Values: []float64{3, 7}}}}
	result = Result{model.Result{Run: run, Step: "s", Task: "t", Attempt: 1, Node: "n", Outcome: model.OutcomeOK,
		Series: []model.Series{{Metric: "m", Offsets: []int64{1, 2}, Values: []float64{0.5, 3}}}}}
	chunk = Chunk{Attempt: attempt, Node: "n", Name: "stdout", Offset: 7, Data: []byte{0, 255}}
)

// roundTrip encodes and decodes a message.
func roundTrip[T Message](t *testing.T, m T) {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode[T](data)
	if err != nil {
		t.Errorf("Decode(%s) = %v", data, err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("%T changed on the way (-want +got):\n%s", m, diff)
	}
}

func TestRoundTrips(t *testing.T) {
	roundTrip(t, Hello{Node: model.Node{ID: "n"}, Session: "s", Holding: []Attempt{attempt}})
	roundTrip(t, HelloReply{Lease: 1, Heartbeat: 2, Version: "v"})
	roundTrip(t, task)
	roundTrip(t, Heartbeat{Node: "n", Session: "s", Running: &attempt})
	roundTrip(t, Ready{Node: "n", Attempt: attempt, ClockOffset: -3, ClockError: 4})
	roundTrip(t, ReadyReply{At: now, Cancel: true})
	roundTrip(t, order)
	roundTrip(t, result)
	roundTrip(t, ResultReply{Stored: true, Reason: "r"})
	roundTrip(t, chunk)
	roundTrip(t, Progress{Attempt: attempt, Node: "n", Run: run, Step: "s", Progress: model.Progress{Value: 1}})
	roundTrip(t, Goodbye{Node: "n", Session: "s"})
	roundTrip(t, Report{Node: "n", Event: model.Event{Text: "t"}})
	roundTrip(t, look)
	roundTrip(t, missing)
	roundTrip(t, Order{Kind: OrderRecord})
	roundTrip(t, read)
}

func TestCheckRefuses(t *testing.T) {
	readings := func(of ...model.HostSeries) Message { return Readings{Node: "n", Began: now, Host: of} }
	changedTask := func(f func(*Assignment)) Message { a := task; f(&a); return a }
	changedOrder := func(f func(*Order)) Message { o := order; f(&o); return o }
	changedLook := func(f func(*Order)) Message { o := look; o.Needs = slices.Clone(o.Needs); f(&o); return o }
	changedResult := func(f func(*Result)) Message { r := result; f(&r); return r }
	for name, m := range map[string]Message{
		"hello without a session":     Hello{Node: model.Node{ID: "n"}},
		"hello without a node":        Hello{Session: "s"},
		"hello holding nothing":       Hello{Node: model.Node{ID: "n"}, Session: "s", Holding: []Attempt{{}}},
		"heartbeat without a node":    Heartbeat{},
		"heartbeat running attempt 0": Heartbeat{Node: "n", Running: &Attempt{Task: "t"}},
		"ready for nothing":           Ready{Node: "n"},
		"ready without a node":        Ready{Attempt: attempt},
		"task of no run":              changedTask(func(a *Assignment) { a.Run = "" }),
		"task of no step":             changedTask(func(a *Assignment) { a.Step = "" }),
		"task without an id":          changedTask(func(a *Assignment) { a.Task = "" }),
		"task of attempt 0":           changedTask(func(a *Assignment) { a.Attempt = 0 }),
		"task for no node":            changedTask(func(a *Assignment) { a.Node = "" }),
		"task for no key":             changedTask(func(a *Assignment) { a.NodeKey = "" }),
		"task without a kind":         changedTask(func(a *Assignment) { a.Spec.Kind = "" }),
		"task without a timeout":      changedTask(func(a *Assignment) { a.Spec.Timeout = 0 }),
		"barrier without a timeout":   changedTask(func(a *Assignment) { a.ReadyTimeout = 0 }),
		"order of an unknown kind":    changedOrder(func(o *Order) { o.Kind = "stop" }),
		"order of no step":            changedOrder(func(o *Order) { o.Step = "" }),
		"order of no run":             changedOrder(func(o *Order) { o.Run = "" }),
		"start without a time":        changedOrder(func(o *Order) { o.At = time.Time{} }),
		"look of no run":              changedLook(func(o *Order) { o.Run = "" }),
		"look without an inquiry":     changedLook(func(o *Order) { o.Inquiry = "" }),
		"look for nothing":            changedLook(func(o *Order) { o.Needs = nil }),
		"look for too much":           changedLook(func(o *Order) { o.Needs = slices.Repeat(o.Needs, MaxNeeds) }),
		"look for an empty need":      changedLook(func(o *Order) { o.Needs[0] = Need{Path: "/bin"} }),
		"look for two in one":         changedLook(func(o *Order) { o.Needs[0].Variable = "V" }),
		"look for a long name":        changedLook(func(o *Order) { o.Needs[0].Program = strings.Repeat("x", maxNeed+1) }),
		"missing on no node":          Missing{Inquiry: "i"},
		"missing of no inquiry":       Missing{Node: "n"},
		"missing what was not asked":  Missing{Node: "n", Inquiry: "i", Needs: []int{-1}},
		"missing too far a thing":     Missing{Node: "n", Inquiry: "i", Needs: []int{MaxNeeds}},
		"missing too much":            Missing{Node: "n", Inquiry: "i", Needs: make([]int, MaxNeeds+1)},
		"readings of no node":         Readings{Began: now},
		"readings that never began":   Readings{Node: "n"},
		"readings of two lengths":     readings(model.HostSeries{Offsets: []int64{1}}),
		"readings of a long time": readings(model.HostSeries{Offsets: make([]int64, MaxReadings+1),
			Values: make([]float64, MaxReadings+1)}),
		"readings of too much":        readings(make([]model.HostSeries, maxWatched+1)...),
		"readings of a long name":     readings(model.HostSeries{Metric: strings.Repeat("x", maxName+1)}),
		"result without a node":       changedResult(func(r *Result) { r.Node = "" }),
		"result without an outcome":   changedResult(func(r *Result) { r.Outcome = "" }),
		"result of attempt 0":         changedResult(func(r *Result) { r.Attempt = 0 }),
		"series of different lengths": changedResult(func(r *Result) { r.Series = []model.Series{{Offsets: []int64{1}}} }),
		"progress without a node":     Progress{Attempt: attempt},
		"progress of nothing":         Progress{Node: "n"},
		"goodbye without a node":      Goodbye{},
		"report without a node":       Report{},
		"chunk without a node":        Chunk{Attempt: attempt, Name: "x"},
		"chunk without a name":        Chunk{Attempt: attempt, Node: "n"},
		"chunk before the beginning":  Chunk{Attempt: attempt, Node: "n", Name: "x", Offset: -1},
		"chunk that is too large":     Chunk{Attempt: attempt, Node: "n", Name: "x", Data: make([]byte, MaxChunk+1)},
		"chunk of nothing":            Chunk{Node: "n", Name: "x"},
	} {
		if err := Check(m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestDecodeErrorsNameTheMessage(t *testing.T) {
	for _, text := range []string{"", "{", `{"node":"*"}`, "null"} {
		_, err := Decode[Heartbeat]([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "wire.Heartbeat") {
			t.Errorf("Decode(%q) = %v, want an error that names wire.Heartbeat", text, err)
		}
	}
}

func TestChunkTravelsAsItIs(t *testing.T) {
	c := chunk
	c.Data = bytes.Repeat([]byte{0, 255, '"'}, MaxChunk/3)
	data, err := EncodeChunk(c)
	if err != nil {
		t.Fatal(err)
	}
	if grown := len(data) - len(c.Data); grown > 200 {
		t.Errorf("%d bytes of data grew by %d", len(c.Data), grown)
	}
	got, err := DecodeChunk(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("chunk changed on the way (-want +got):\n%s", diff)
	}
	if _, err := EncodeChunk(Chunk{}); err == nil {
		t.Error("an unusable chunk was encoded")
	}
	for n := range 20 {
		if _, err := DecodeChunk(data[:n]); err == nil {
			t.Errorf("the first %d bytes are a chunk", n)
		}
	}
	if _, err := DecodeChunk([]byte{255, 255, 255, 255, 0}); !errors.Is(err, errChunk) {
		t.Errorf("a header beyond the end: %v, want %v", err, errChunk)
	}
}

// fuzzMessage holds a message to this: what decodes is usable, and encodes
// and decodes to the same again.
func fuzzMessage[T Message](f *testing.F, seeds ...T) {
	for _, s := range seeds {
		data, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("{}"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode[T](data)
		if err != nil {
			return
		}
		if err := Check(m); err != nil {
			t.Errorf("decoded, but unusable: %v", err)
		}
		again, err := json.Marshal(m)
		if err != nil {
			return // a time of a year that JSON cannot say
		}
		back, err := Decode[T](again)
		if err != nil {
			t.Fatalf("%s decodes, %s does not: %v", data, again, err)
		}
		twice, err := json.Marshal(back)
		if err != nil || !bytes.Equal(again, twice) {
			t.Errorf("%s became %s (%v)", again, twice, err)
		}
	})
}

func FuzzHello(f *testing.F) {
	fuzzMessage(f, Hello{Node: model.Node{ID: "n"}, Session: "s", Holding: []Attempt{attempt}})
}
func FuzzHelloReply(f *testing.F) { fuzzMessage(f, HelloReply{Lease: 1}) }
func FuzzAssignment(f *testing.F) { fuzzMessage(f, task) }
func FuzzHeartbeat(f *testing.F) {
	fuzzMessage(f, Heartbeat{Node: "n", Session: "s", Running: &attempt})
}
func FuzzReady(f *testing.F)      { fuzzMessage(f, Ready{Node: "n", Attempt: attempt}) }
func FuzzReadyReply(f *testing.F) { fuzzMessage(f, ReadyReply{At: now}) }
func FuzzOrder(f *testing.F) {
	fuzzMessage(f, order, Order{Kind: OrderCancel, Run: run, Step: "s"}, look)
}
func FuzzResult(f *testing.F)      { fuzzMessage(f, result) }
func FuzzResultReply(f *testing.F) { fuzzMessage(f, ResultReply{Stored: true}) }
func FuzzChunk(f *testing.F)       { fuzzMessage(f, chunk) }
func FuzzProgress(f *testing.F)    { fuzzMessage(f, Progress{Attempt: attempt, Node: "n"}) }
func FuzzGoodbye(f *testing.F)     { fuzzMessage(f, Goodbye{Node: "n"}) }
func FuzzReport(f *testing.F)      { fuzzMessage(f, Report{Node: "n"}) }
func FuzzMissing(f *testing.F)     { fuzzMessage(f, missing) }
func FuzzReadings(f *testing.F)    { fuzzMessage(f, read) }

func FuzzDecodeChunk(f *testing.F) {
	data, err := EncodeChunk(chunk)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeChunk(data)
		if err != nil {
			return
		}
		again, err := EncodeChunk(c)
		if err != nil {
			t.Fatalf("%+v decodes and does not encode: %v", c, err)
		}
		back, err := DecodeChunk(again)
		if err != nil || !cmp.Equal(c, back) {
			t.Errorf("%+v became %+v, %v", c, back, err)
		}
	})
}

// TestFailedStorable: nothing of a result that cannot be used is kept that could keep its
// substitute from being stored.
func TestFailedStorable(t *testing.T) {
	r := model.Result{Run: "r", Step: "r/0000", Task: "r/0000/0000", Attempt: 1, Node: "n",
		Started: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), Ended: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	if f := Failed(r, "why"); !f.Started.IsZero() || !f.Ended.IsZero() || f.Outcome != model.OutcomeFailed {
		t.Errorf("Failed = %+v, want a failed result without times", f)
	}
	r.Started = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if f := Failed(r, "why"); !f.Started.Equal(r.Started) {
		t.Errorf("Failed has the start %v, want %v", f.Started, r.Started)
	}
}
