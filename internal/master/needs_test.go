package master

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/internal/workload/command"
)

// deafQueue carries orders to nodes of which "slow" hears the second one only,
// "deaf" none, and "liar" answers for another inquiry.
type deafQueue struct {
	noQueue
	m     *Master
	heard map[model.NodeID]int
}

func (q *deafQueue) Order(_ context.Context, o wire.Order, nodes []model.NodeID) error {
	for _, id := range nodes {
		q.heard[id]++
		answer := wire.Missing{Node: id, Inquiry: o.Inquiry, Needs: []int{0, 200}}
		switch {
		case id == "deaf", id == "slow" && q.heard[id] == 1:
			continue
		case id == "liar":
			answer.Inquiry = "another"
		}
		q.m.Missing(answer)
		q.m.Missing(wire.Missing{Node: id, Inquiry: o.Inquiry + "x", Needs: []int{1}})
		q.m.Missing(wire.Missing{Node: "stranger", Inquiry: o.Inquiry, Needs: []int{0}})
	}
	return nil
}

// TestAskNodes: each node is asked until it answers. One that does not is not
// refused, and one that was not asked is not believed.
func TestAskNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			nodes   []model.NodeID
			want    []model.NodeID
			atMost  time.Duration
			atLeast time.Duration
		}{
			{nodes: []model.NodeID{"a", "b"}, want: []model.NodeID{"a", "b"}},
			{nodes: []model.NodeID{"a", "slow"}, want: []model.NodeID{"a", "slow"}, atLeast: lookEvery, atMost: lookEvery},
			{nodes: []model.NodeID{"deaf", "a", "liar"}, want: []model.NodeID{"a"}, atLeast: lookFor, atMost: lookFor},
			{},
		} {
			m := &Master{inquiries: make(map[string]*inquiry), log: slog.New(slog.DiscardHandler)}
			m.cfg.Queue = &deafQueue{m: m, heard: make(map[model.NodeID]int)}
			x := &execution{Master: m, run: model.Run{ID: "r"}}
			begin := time.Now()
			got, err := x.ask(t.Context(), []need{{Need: wire.Need{Program: "fio"}, nodes: tt.nodes}})
			if took := time.Since(begin); err != nil || took < tt.atLeast || took > tt.atMost {
				t.Errorf("asking %v: %v after %v, want %v to %v", tt.nodes, err, took, tt.atLeast, tt.atMost)
			}
			if diff := cmp.Diff(tt.want, got[0]); diff != "" {
				t.Errorf("asking %v (-want +got):\n%s", tt.nodes, diff)
			}
			if len(m.inquiries) > 0 {
				t.Error("the inquiry is kept")
			}
		}
	})
}

// TestNeeds: each node is asked for what runs on it, and for nothing that an
// earlier workload may install.
func TestNeeds(t *testing.T) {
	of := func(text, label string, pass ...string) experiment.Workload {
		w := experiment.Workload{Bench: &command.Params{Command: text, Shell: "/bin/sh", PassEnv: pass}}
		if label != "" {
			w.On = map[string]string{"role": label}
		}
		return w
	}
	nodes := []model.Node{{ID: "a", Labels: map[string]string{"role": "x"}}, {ID: "b"}}
	got := make(map[wire.Need][]model.NodeID)
	for _, n := range needs(&experiment.Experiment{Workloads: []experiment.Workload{
		of("fio x", "x"), of("iperf3", "x"), of("iperf3", ""), of("setup", "x"), of("ffmpeg", "", "KEY"), of(strings.Repeat("x", 5000), ""),
	}}, nodes) {
		got[n.Need] = n.nodes
	}
	want := map[wire.Need][]model.NodeID{
		{Program: "fio"}: {"a"}, {Program: "iperf3"}: {"a", "b"}, {Program: "setup"}: {"a"}, {Variable: "KEY"}: {"a", "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}

func TestLack(t *testing.T) {
	nodes := []model.Node{
		{ID: "n1", Facts: model.Facts{OS: "Debian GNU/Linux 12 (bookworm)"}},
		{ID: "n2", Facts: model.Facts{OS: "Rocky Linux 9.4"}},
		{ID: "n3", Facts: model.Facts{OS: "Debian GNU/Linux 12 (bookworm)"}},
	}
	program := func(name string, on ...model.NodeID) need {
		return need{Need: wire.Need{Program: name}, nodes: on}
	}
	for _, tt := range []struct {
		name string
		all  []need
		want string
	}{
		{"nothing", []need{program("fio")}, ""},
		{"two of a kind", []need{program("fio", "n1", "n3")},
			"fio is missing on n1, n3 (2 of 3 nodes); install it there: apt-get install fio"},
		{"two systems", []need{program("fio", "n1", "n2", "n3"), program("/bin/bash", "n1", "n2", "n3")},
			"fio, /bin/bash are missing on all 3 nodes; install them there: apt-get install bash fio (n1, n3), dnf install bash fio (n2)"},
		{"an unknown package", []need{program("fio", "n1"), program("mine", "n1")},
			"fio is missing on n1 (1 of 3 nodes); install it there: apt-get install fio; mine is missing on n1 (1 of 3 nodes); install it there"},
		{"different nodes", []need{program("fio", "n1"), program("sysbench", "n2"), program("iperf3", "n1")},
			"fio, iperf3 are missing on n1 (1 of 3 nodes); install them there: apt-get install fio iperf3; sysbench is missing on n2 (1 of 3 nodes); install it there: dnf install sysbench"},
		{"variables", []need{{Need: wire.Need{Variable: "A"}, nodes: []model.NodeID{"n1"}}, {Need: wire.Need{Variable: "B"}, nodes: []model.NodeID{"n1"}}},
			"A, B are not set in the environment of the agents on n1 (1 of 3 nodes); set them where they start"},
		{"another way", []need{{Need: wire.Need{Program: "/ub/Run"}, get: "build it", nodes: []model.NodeID{"n2"}}},
			"/ub/Run is missing on n2 (1 of 3 nodes); build it"},
	} {
		got := ""
		if err := lack(tt.all, nodes); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
