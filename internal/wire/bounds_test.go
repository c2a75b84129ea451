package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

func TestBounded(t *testing.T) {
	long := model.Series{Metric: "m", Unit: "op", Offsets: make([]int64, 100_000), Values: make([]float64, 100_000)}
	for i := range long.Offsets {
		long.Offsets[i] = int64(i) * 1e8
	}
	samples := slices.Repeat([]model.Sample{{Metric: "m", Unit: "s", Value: 1, Better: model.Higher}}, 100_000)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"nothing":                  {"", true},
		"long series":              {marshal(t, model.Result{Series: []model.Series{long}}), true},
		"short samples":            {marshal(t, model.Result{Samples: samples}), true},
		"commas and braces quoted": {`{"text":"` + strings.Repeat(`{},\"[`, 100_000) + `"}`, true},
		"empty objects":            {"[" + strings.Repeat("{},", 100_000) + "{}]", false},
		"nested lists":             {strings.Repeat("[", 100_000), false},
		"too many numbers":         {"[" + strings.Repeat("0,", maxValues/perValue+1) + "0]", false},
	} {
		if err := Bounded([]byte(c.text)); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v, want accepted: %v", name, err, c.ok)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What a server keeps of a node has bounds; its agent keeps to them.
func TestMessagesHoldNoMoreThanIsKept(t *testing.T) {
	long, labels := strings.Repeat("ü", maxName), map[string]string{}
	for i := range maxLabels + 1 {
		labels[fmt.Sprint(i)] = "x"
	}
	at := Attempt{Task: "t", Attempt: 1}
	for name, m := range map[string]Message{
		"session":            Hello{Node: model.Node{ID: "n"}, Session: long},
		"labels":             Hello{Node: model.Node{ID: "n", Labels: labels}, Session: "s"},
		"label":              Hello{Node: model.Node{ID: "n", Labels: map[string]string{"a": long}}, Session: "s"},
		"label's name":       Hello{Node: model.Node{ID: "n", Labels: map[string]string{long: "a"}}, Session: "s"},
		"attempts":           Hello{Node: model.Node{ID: "n"}, Session: "s", Holding: slices.Repeat([]Attempt{at}, maxHeld+1)},
		"task of an attempt": Heartbeat{Node: "n", Session: "s", Running: &Attempt{Task: model.TaskID(long), Attempt: 1}},
		"heartbeat":          Heartbeat{Node: "n", Session: long},
		"goodbye":            Goodbye{Node: "n", Session: long},
		"ready":              Ready{Node: "n", Attempt: Attempt{Task: model.TaskID(long), Attempt: 1}},
		"metric":             Progress{Node: "n", Attempt: at, Progress: model.Progress{Metric: long}},
		"kind":               Report{Node: "n", Event: model.Event{Kind: model.EventKind(long)}},
		"text":               Report{Node: "n", Event: model.Event{Text: strings.Repeat("x", maxText+1)}},
		"addresses":          Hello{Node: model.Node{ID: "n", Facts: model.Facts{Addresses: make([]string, maxListed+1)}}, Session: "s"},
	} {
		if err := Check(m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	facts := model.Facts{Hostname: long, Addresses: slices.Repeat([]string{long}, 10*maxListed), Disks: slices.Repeat([]model.Disk{{Model: long}}, 10*maxListed), Cloud: &model.CloudInfo{Zone: long}}
	if err := Check(Hello{Node: model.Node{ID: "n", Facts: facts}, Session: "s", Holding: slices.Repeat([]Attempt{at}, 10*maxHeld)}.Fitted()); err != nil {
		t.Errorf("a hello that was fitted: %v", err)
	}
	if facts.Cloud.Zone != long || facts.Addresses[0] != long {
		t.Error("fitting changed the agent's own facts")
	}
	if err := Check(Report{Node: "n", Event: model.Event{Text: strings.Repeat("ü", maxText)}}.Fitted()); err != nil {
		t.Errorf("a report that was fitted: %v", err)
	}
}

// TestResultTexts: every text of a result has a limit, and an agent cuts those for people.
func TestResultTexts(t *testing.T) {
	long, longest := strings.Repeat("m", maxName+1), strings.Repeat("ü", maxReason)
	good := func() model.Result {
		return model.Result{Run: "r", Step: "r/0000", Task: "r/0000/0000", Attempt: 1, Node: "n",
			Outcome: model.OutcomeOK}
	}
	for name, change := range map[string]func(*model.Result){
		"metric":      func(r *model.Result) { r.Samples = []model.Sample{{Metric: long}} },
		"unit":        func(r *model.Result) { r.Samples = []model.Sample{{Unit: long}} },
		"resource":    func(r *model.Result) { r.Samples = []model.Sample{{Resource: long}} },
		"label":       func(r *model.Result) { r.Samples = []model.Sample{{Labels: map[string]string{"a": long}}} },
		"series":      func(r *model.Result) { r.Series = []model.Series{{Metric: long}} },
		"host":        func(r *model.Result) { r.Host = []model.HostSeries{{Unit: long}} },
		"histogram":   func(r *model.Result) { r.Histograms = []model.Histogram{{Metric: long}} },
		"stage":       func(r *model.Result) { r.Stages = []model.Stage{{Name: long}} },
		"note":        func(r *model.Result) { r.Stages = []model.Stage{{Note: longest}} },
		"error":       func(r *model.Result) { r.Error = longest },
		"samples":     func(r *model.Result) { r.Samples = make([]model.Sample, maxMetrics+1) },
		"artifact":    func(r *model.Result) { r.Stdout.Artifact = long },
		"many stages": func(r *model.Result) { r.Stages = make([]model.Stage, maxPassed+1) },
		"many of labels": func(r *model.Result) {
			labels := make(map[string]string)
			for i := range maxLabels + 1 {
				labels[strconv.Itoa(i)] = ""
			}
			r.Samples = []model.Sample{{Labels: labels}}
		},
	} {
		r := good()
		change(&r)
		if err := Check(Result{Result: r}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	r := good()
	r.Error, r.Stages = longest, []model.Stage{{Note: longest, Error: longest}}
	if err := Check(Result{Result: FittedResult(r)}); err != nil || r.Stages[0].Note != longest {
		t.Errorf("a result that was fitted: %v", err)
	}
	for name, facts := range map[string]model.Facts{"cores": {Cores: -1 << 40}, "memory": {Memory: -1},
		"limit": {CPULimit: math.NaN()}, "disk": {Disks: []model.Disk{{Size: -1}}}} {
		if err := Check(Hello{Node: model.Node{ID: "n", Facts: facts}, Session: "s"}); err == nil {
			t.Errorf("less than nothing of %s: accepted", name)
		}
	}
}

// What is refused for holding too many values is never less than that many
// bytes; and no input makes it fail.
func FuzzBounded(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,"\"{,"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := Bounded(text); err != nil && perObject*len(text) <= freely {
			t.Errorf("%d bytes are too many values: %v", len(text), err)
		}
	})
}
