package analysis

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestWireDemand: a demand counted in packets, a capacity in payload.
func TestWireDemand(t *testing.T) {
	measured := Capacity{Resource: model.ResourceNetworkReceive, Total: 36e6, Unit: byteRate, Nodes: 8, Limited: true}
	given := measured
	given.Nodes = 0
	for _, c := range []struct {
		name    string
		wire    bool
		c       Capacity
		largest [2]int // 0: no interval
		warned  bool
	}{
		// 36/1.5 is 24 nodes; of 1448/1514 of that each, 25.09.
		{"measured against measured", true, measured, [2]int{24, 25}, true},
		{"measured against a link's limit", true, given, [2]int{}, false},
		{"given against measured", false, measured, [2]int{}, false},
	} {
		r, err := Plan(PlanInput{Target: 10, NodeRate: 1, Demands: []Demand{{Resource: model.ResourceNetworkReceive, Amount: 1.5e6, Unit: byteRate, Wire: c.wire}}, Capacities: []Capacity{c.c}})
		if err != nil {
			t.Fatal(err)
		}
		x := r.Resources[0]
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "packets with their headers"); got != c.warned {
			t.Errorf("%s: warnings %q, want one about headers = %v", c.name, r.Warnings, c.warned)
		}
		if (x.LargestCI != nil) != c.warned || c.warned && *x.LargestCI != c.largest {
			t.Errorf("%s: largest fleet %v, want %v", c.name, x.LargestCI, c.largest)
		}
		if c.warned {
			wantValue(t, "lower bound of the demand", &x.DemandCI[0], 1.5e6*1448/1514, 1)
		}
	}
}

// TestWireDemandOfDemandsOf: what the monitor counts on a network is packets.
func TestWireDemandOfDemandsOf(t *testing.T) {
	ds, err := DemandsOf(monitored(map[string]float64{"net.rx_bytes": 100, "net.tx_bytes": 10, "cgroup.cpu": 1}).data, "")
	if err != nil || len(ds) != 3 {
		t.Fatalf("demands %+v, %v, want three", ds, err)
	}
	for _, d := range ds {
		if want := category(d.Resource) == "network"; d.Wire != want {
			t.Errorf("%s: counted in packets = %v, want %v", d.Resource, d.Wire, want)
		}
	}
}

// TestWireDemandOfOneNode: a node that fills its link is not said to take more
// than a node has.
func TestWireDemandOfOneNode(t *testing.T) {
	alone := 1448e3
	c := Capacity{Resource: model.ResourceNetworkSend, Total: 10e6, Unit: byteRate, Nodes: 8, Alone: &alone}
	for amount, want := range map[float64]bool{1514e3: false, 1600e3: true} {
		r, err := Plan(PlanInput{Target: 2, NodeRate: 1, Demands: []Demand{{Resource: c.Resource, Amount: amount, Unit: byteRate, Wire: true, Measured: true}}, Capacities: []Capacity{c}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "one node alone has"); got != want {
			t.Errorf("%v byte/s: warnings %q, want one about the node = %v", amount, r.Warnings, want)
		}
	}
}
