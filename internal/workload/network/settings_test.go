package network

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// parse decodes parameters over the defaults.
func parse(t *testing.T, text string) *Params {
	t.Helper()
	return workloadtest.Parse(t, Kind(), text).(*Params)
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{}`, ""},
		{`{"preset": "paper"}`, ""},
		{`{"preset": "paper", "duration": "1m"}`, ""},
		{`{"pairing": "all_to_one", "sink": "n1", "direction": "receive", "connections": 8, "size": "1MB", "duration": "30s", "warm_up": "0s", "port": 9000, "stall": "10s"}`, ""},
		{`{"tool": "iperf3", "duration": "5s", "warm_up": "3s"}`, ""},
		{`{"tool": "netperf"}`, "tool"},
		{`{"pairing": "star"}`, "pairing"},
		{`{"direction": "up"}`, "direction"},
		{`{"preset": "article"}`, "preset"},
		{`{"sink": "n1"}`, "sink"},
		{`{"connections": -1}`, "connections"},
		{`{"connections": 1025}`, "connections"},
		{`{"size": "999B"}`, "size"},
		{`{"size": "17GB"}`, "size"},
		{`{"duration": "1ms"}`, "duration"},
		{`{"downloads": 5, "duration": "10s"}`, "downloads"},
		{`{"downloads": -5}`, "downloads"},
		{`{"warm_up": "2h"}`, "warm_up"},
		{`{"port": 0}`, "port"},
		{`{"port": 65536}`, "port"},
		{`{"stall": "0s"}`, "stall"},
		{`{"tool": "iperf3", "downloads": 5}`, "downloads"},
		{`{"tool": "iperf3", "preset": "paper"}`, "downloads"},
		{`{"tool": "iperf3", "size": "1MB"}`, "size"},
		{`{"tool": "iperf3", "connections": 129}`, "connections"},
		{`{"tool": "iperf3", "duration": "1500ms"}`, "duration"},
		{`{"tool": "iperf3", "warm_up": "500ms"}`, "warm_up"},
		{`{"packet": "88B", "messages": ["1B", "64KiB", "1MiB"]}`, ""},
		{`{"packet": "87B"}`, "packet"},
		{`{"packet": "9001B"}`, "packet"},
		{`{"messages": ["1kB", "2MiB"]}`, "messages[1]"},
		{`{"messages": ["1kB", "1kB"]}`, "messages"},
		{`{"tool": "iperf3", "packet": "1kB"}`, "packet"},
		{`{"tool": "iperf3", "messages": ["1kB"]}`, "messages"},
	})
}

func TestSettings(t *testing.T) {
	tests := []struct {
		params string
		want   settings
	}{
		{`{}`, settings{
			tool: Builtin, receive: true, mutual: true, connections: 4, size: 100_000_000,
			duration: 10 * time.Second, warmUp: 2 * time.Second, idle: time.Second, port: 7420, stall: 5 * time.Second,
		}},
		{`{"preset": "paper"}`, settings{
			tool: Builtin, receive: true, mutual: true, connections: runtime.NumCPU(), size: 100_000_000,
			duration: 10 * time.Second, downloads: 3200, port: 7420, stall: 5 * time.Second,
		}},
		{`{"preset": "paper", "duration": "1m", "connections": 7, "warm_up": "1s"}`, settings{
			tool: Builtin, receive: true, mutual: true, connections: 7, size: 100_000_000,
			duration: time.Minute, warmUp: time.Second, idle: time.Second / 2, port: 7420, stall: 5 * time.Second,
		}},
		{`{"tool": "iperf3", "warm_up": "1s", "pairing": "ring", "direction": "both"}`, settings{
			tool: Iperf3, receive: true, send: true, connections: 4, size: 100_000_000,
			duration: 10 * time.Second, warmUp: time.Second, port: 7420, stall: 5 * time.Second,
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, parse(t, tt.params).settings(), cmp.AllowUnexported(settings{})); diff != "" {
			t.Errorf("settings of %s (-want +got):\n%s", tt.params, diff)
		}
	}
}

func TestPairing(t *testing.T) {
	type answer struct {
		Pairing       workload.Pairing
		Receive, Send bool
	}
	tests := []struct {
		params string
		want   answer
	}{
		{`{}`, answer{workload.Pairing{Kind: workload.Pairs, Both: true}, true, false}},
		{`{"direction": "receive"}`, answer{workload.Pairing{Kind: workload.Pairs}, true, false}},
		{`{"direction": "send"}`, answer{workload.Pairing{Kind: workload.Pairs}, false, true}},
		{`{"pairing": "across_groups"}`, answer{workload.Pairing{Kind: workload.AcrossGroups, Both: true}, true, false}},
		{`{"pairing": "within_groups"}`, answer{workload.Pairing{Kind: workload.WithinGroups, Both: true}, true, false}},
		{`{"pairing": "ring"}`, answer{workload.Pairing{Kind: workload.Ring}, true, false}},
		{`{"pairing": "ring", "direction": "both"}`, answer{workload.Pairing{Kind: workload.Ring}, true, true}},
		{`{"pairing": "all_to_one", "sink": "n3"}`, answer{workload.Pairing{Kind: workload.AllToOne, Sink: "n3"}, false, true}},
		{`{"pairing": "all_to_one", "direction": "receive"}`, answer{workload.Pairing{Kind: workload.AllToOne}, true, false}},
		{`{"pairing": "all_to_one", "direction": "both"}`, answer{workload.Pairing{Kind: workload.AllToOne}, true, true}},
	}
	for _, tt := range tests {
		p := parse(t, tt.params)
		s := p.settings()
		if diff := cmp.Diff(tt.want, answer{p.Pairing(), s.receive, s.send}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.params, diff)
		}
	}
	var _ workload.Paired = (*Params)(nil)
	var _ workload.Cleaner = (*Params)(nil)
}

func TestEstimate(t *testing.T) {
	for params, want := range map[string]time.Duration{
		`{}`: 12 * time.Second, `{"duration": "1m", "warm_up": "0s"}`: time.Minute, `{"downloads": 3}`: 0,
	} {
		if got := parse(t, params).Estimate(); got != want {
			t.Errorf("Estimate of %s = %v, want %v", params, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	s := parse(t, `{"tool": "iperf3", "warm_up": "3s", "pairing": "ring", "direction": "both", "stall": "1500ms"}`).settings()
	want := []string{
		"--client", "10.0.0.1", "--port", "7520", "--json", "--interval", "0.25", "--parallel", "4", "--time", "10",
		"--omit", "2", "--connect-timeout", "1500", "--bidir",
	}
	if diff := cmp.Diff(want, s.arguments("10.0.0.1", 7520)); diff != "" {
		t.Errorf("arguments() (-want +got):\n%s", diff)
	}
}
