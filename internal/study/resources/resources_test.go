package resources

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/test/golden"
)

// analyzed is the result of the run in testdata: a lab with a shared uplink,
// measured at several sizes.
func analyzed(t *testing.T) *Result {
	t.Helper()
	b, err := os.ReadFile("testdata/run.json")
	if err != nil {
		t.Fatal(err)
	}
	var data model.RunData
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	r, err := (&Params{}).Analyze(context.Background(), study.Input{Run: observe.Of(data)})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
}

// TestGolden: the JSON contract and the whole document.
func TestGolden(t *testing.T) {
	r := analyzed(t)
	for name, value := range map[string]any{"result.json": r, "document.json": r.Document()} {
		golden.JSON(t, "testdata/"+name, value)
	}
}

// TestAnswer: what is lost first, or that nothing is, in one sentence.
func TestAnswer(t *testing.T) {
	network, disk := found(model.ResourceNetworkSend, 40, 38, 42, 50e6), found(model.ResourceDiskWrite, 41, 37, 45, 9e6)
	cpu, memory := found(model.ResourceCPU, .1, -1, 1.2, 1), found(model.ResourceMemory, 20, 19, 21, 1)
	for _, c := range []struct {
		name string
		r    Ranking
		want string
	}{
		{"one", rank(list(cpu, network, memory), nil), "network.send: 4 nodes lose 40.0 % of their capacity together [38.0, 42.0]."},
		{"two alike", rank(list(network, disk, memory), nil), "disk.write and network.send are lost first, and the intervals do not tell them apart."},
		{"none", rank(list(cpu), nil), "No resource loses capacity, as far as this run shows."},
		{"nothing", rank(nil, nil), "The run does not tell which resource is lost: no metric has a verdict."},
	} {
		if got := (&Result{Ranking: c.r}).answer()[0]; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
