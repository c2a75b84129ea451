package ntier

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
)

// TestSmallDemands: a part of a byte is no 0.
func TestSmallDemands(t *testing.T) {
	v := .005
	f := Finding{Answer: bottleneck.Answer{Laws: &bottleneck.Laws{Demands: []bottleneck.Demand{{Resource: bottleneck.Resource{Tier: "db", Kind: bottleneck.LinkOut}, Unit: "byte", Below: &v, Capacity: 1000, Hosts: 1}}}}}
	if text := fmt.Sprint(f.demandsTable().Rows); !strings.Contains(text, "0.005") {
		t.Errorf("a demand of 0.005 bytes is %s", text)
	}
}

// TestTierResponse: the response time of a tier is that of the hosts that tell it.
func TestTierResponse(t *testing.T) {
	host := func(node string, response, requests float64) bottleneck.Service {
		return bottleneck.Service{Tier: "web", Node: model.NodeID(node), Signals: map[string][]float64{bottleneck.SignalResponse: {response}, bottleneck.SignalRequests: {requests}}}
	}
	m := measured{system: bottleneck.System{Tiers: []string{"web"}, Trials: []bottleneck.Trial{{Users: 9, Services: []bottleneck.Service{host("a", 2, 10), host("b", math.NaN(), 30)}}}}}
	if got := m.signals(bottleneck.Analyze(m.system).Loads); len(got) != 1 || *got[0].Values[0] != .2 {
		t.Errorf("signals %+v, want a response time of 0.2 s", got)
	}
}

// TestSent: what a tier sends is that of all its hosts together, in the trials in which
// it is known of each. Of a table, which has shares of a link, it is not known.
func TestSent(t *testing.T) {
	host := func(node string, sent float64) bottleneck.Service {
		return bottleneck.Service{Tier: "db", Node: model.NodeID(node), Signals: map[string][]float64{bottleneck.SignalSent: {sent, math.NaN(), sent + 2}}}
	}
	m := measured{system: bottleneck.System{Tiers: []string{"db"}, Trials: []bottleneck.Trial{
		{Users: 9, Services: []bottleneck.Service{host("a", 10), host("b", 20)}},
		{Users: 9, Services: []bottleneck.Service{host("a", 16), host("b", 24)}},
		{Users: 9, Services: []bottleneck.Service{host("a", 1000), host("b", math.NaN())}},
		{Users: 18},
	}}}
	got := m.signals(bottleneck.Analyze(m.system).Loads)
	if len(got) != 1 || got[0].Signal != "sent" || got[0].Values[0] == nil || *got[0].Values[0] != (11+21+17+25)/2 || got[0].Values[1] != nil {
		t.Errorf("signals %+v, want 37 sent with 9 users", got)
	}
	for i := range m.system.Trials {
		m.system.Trials[i].Shares = map[string]int{"db": 2}
	}
	if got := m.signals(bottleneck.Analyze(m.system).Loads); len(got) != 0 {
		t.Errorf("signals of shares %+v, want none", got)
	}
}

// TestUnfinishedShown: what had not ended is in the table of loads, where there is any.
func TestUnfinishedShown(t *testing.T) {
	f := Finding{Answer: bottleneck.Answer{Loads: []bottleneck.Load{{Users: 10}, {Users: 20, Unfinished: 12}}}}
	at := func() (*doc.Table, int) {
		table := f.loadsTable()
		return table, slices.IndexFunc(table.Columns, func(c doc.Column) bool { return c.Key == "unfinished" })
	}
	table, i := at()
	if i < 0 || table.Rows[0].Cells[i].Lines[0] != "0" || table.Rows[1].Cells[i].Lines[0] != "12" || len(table.Rows[1].Cells) != len(table.Columns) {
		t.Fatalf("column %d of %+v, want 0 and 12 unfinished", i, table)
	}
	f.Loads[1].Unfinished = 0
	if table, i := at(); i >= 0 || len(table.Rows[1].Cells) != len(table.Columns) {
		t.Errorf("a column of what is nowhere: %+v", table)
	}
}
