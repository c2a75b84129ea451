package pressure

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/test/golden"
)

// paper are the parameters of the golden case.
func paper() *Params {
	return params(map[string]string{"iops": "300", "throughput": "60MiB/s"}, file("", "ebs", paperForm))
}

// clipped is 276 operations of 64 KiB: P_op is .92.
func clipped(node string) telemetry.Recording {
	return recordedOf(node, "vol-2", 10, reads(64<<10, slicesOf(276, 30)...))
}

// TestAdvisedGolden: raise to 960, for a growth of 3.48; then bytes bind.
func TestAdvisedGolden(t *testing.T) {
	for _, nodes := range [][]string{{"db-1"}, {"db-1", "db-2", "db-3"}} {
		var all []telemetry.Recording
		for _, node := range nodes {
			all = append(all, clipped(node))
		}
		p := paper()
		p.Critical = 90
		r := resultOf(t, p, all...)
		near(t, "P_op", find(t, r, nodes[0], "vol-2", "ops").SLP.Mean, .92)
		near(t, "P_bw", find(t, r, nodes[0], "vol-2", "bytes").SLP.Mean, .2875)
		if len(r.Advice) != len(nodes) {
			t.Fatalf("%d nodes: advice %+v", len(nodes), r.Advice)
		}
		for i, a := range r.Advice {
			if a.Action != ActionRaise || a.Node != nodes[i] || a.Quality != "ops" || a.From != 300 || *a.To != 960 ||
				!a.AtLeast ||
				math.Round(100*a.Growth.Value) != 348 || len(a.Next) != len(nodes) || a.Next[i] != (LimitOf{nodes[i], "vol-2",
				"bytes"}) {
				t.Errorf("advice %+v", a)
			}
		}
		want := "vol-2 was at its operations limit for 100 % of the time (at least 20, at most 100 %); raise it to 960 " +
			"op/s; more is of no use, because bytes are at 100 % then."
		if len(nodes) > 1 {
			want = "vol-2 of db-1 was at its operations limit for 100 % of the time (at least 20, at most 100 %); raise it to " +
				"960 op/s, and 2 other services alike; " +
				"more is of no use, because bytes are at 100 % then."
		}
		if got := r.document().Answer; got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
}

// TestAdvisedLower: less is advised only of what an input sets, and for its limit that needs
// most.
func TestAdvisedLower(t *testing.T) {
	quiet := recordedOf("db-1", "vol-2", 120, reads(64<<10, slicesOf(95, 30)...))
	for name, tt := range map[string]struct {
		form string
		want []string
	}{
		"each input": {paperForm, []string{"ops", "bytes"}},
		"one input for both": {"inputs: {gib: {}}\nlimits:\n- {of: ops, rate: {per_gib: 3}}\n- {of: bytes, rate: " +
			"{per_gib: 256KiB}}", []string{"ops"}},
		"no input": {"limits:\n- {of: ops, rate: 1000}\n- {of: bytes, rate: 100MiB/s}", nil},
		"chosen by a word": {"inputs: {tier: {}}\nlimits: [{of: ops, rate: {by: tier, choices: {P10: 500, P20: " +
			"1000}}}]", nil},
		"nearly all is needed": {"inputs: {iops: {}}\nlimits: [{of: ops, rate: {base: 2, per_op: 0.12}}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := params(map[string]string{}, file("", "m", tt.form))
			for input, value := range map[string]string{"iops": "1000", "throughput": "100", "gib": "100", "tier": "P20"} {
				if strings.Contains(tt.form, input+": {") {
					p.Set[input] = value
				}
			}
			r := resultOf(t, p, quiet)
			var got []string
			for _, a := range lowered(r) {
				got = append(got, a.Quality)
				if s := find(t, r, a.Node, a.Service, a.Quality); *a.To < s.SLP.P99*s.Limit/.95 ||
					*a.To > max(1.02*s.SLP.P99*s.Limit/.95, 7<<20) {
					t.Errorf("%s: to %g, from %g at a pressure of %g", a.Quality, *a.To, a.From, s.SLP.P99)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lower (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCosts: the growth of the golden case, by raising three nodes' volumes or with k = 10
// nodes.
func TestCosts(t *testing.T) {
	p := paper()
	p.Critical, p.Growth, p.Requests = 100, 3.48, 1000
	p.Prices = "model,input,per_month,currency,included\nebs,iops,0.1,USD,300\n" +
		"ebs,throughput,0.5,USD,\nm5.large,node,70,USD,\n"
	all := []telemetry.Recording{clipped("db-1"), clipped("db-2"), clipped("db-3")}
	r := resultOf(t, p, all...)
	g := r.Growth
	// 276·3.48 = 960.48 operations, and 60.03 MiB/s.
	for _, s := range g.Services {
		if diff := cmp.Diff(map[string]string{"iops": "961", "throughput": "61MiB"}, s.To); diff != "" {
			t.Errorf("%s: inputs (-want +got):\n%s", s.Node, diff)
		}
		near(t, "price of a volume", *s.Monthly, 661*.1+61*.5)
	}
	near(t, "price of raises", *g.Raise.Monthly, 3*(661*.1+61*.5+70))
	near(t, "price of a request", g.Raise.PerRate.Value, *g.Raise.Monthly/3480)
	if g.Nodes.Nodes != 10 || g.EnoughNodes.Nodes != 11 {
		t.Errorf("%d nodes below, %d are enough; want 10 and 11", g.Nodes.Nodes, g.EnoughNodes.Nodes)
	}
	near(t, "price of nodes", *g.Nodes.Monthly, 10*(60*.5+70))
	near(t, "price of enough nodes", *g.EnoughNodes.Monthly, 11*(60*.5+70))
	for name, tt := range map[string]struct{ prices, doubt string }{
		"none": {"", ""},
		"of some inputs": {"model,input,per_month,currency\nebs,iops,0.1,USD\n",
			"the price list lacks ebs throughput, node"},
		"of no node": {"model,input,per_month,currency\nebs,iops,0.1,USD\nebs,throughput,1,USD\n",
			"the price list lacks node"},
		"and no requests": {p.Prices, ""},
	} {
		p.Prices, p.Requests = tt.prices, 0
		r := resultOf(t, p, all...)
		text, err := json.Marshal(r)
		if g := r.Growth; err != nil || g.Raise.PerRate != nil || (g.Raise.Monthly == nil) != (name != "and no requests") {
			t.Errorf("prices %s: %+v, %v: %s", name, g.Raise, err, text)
		}
		if tt.doubt != "" {
			says(t, r, tt.doubt)
		}
	}
	p.Growth = 1000
	if r := resultOf(t, p, all...); r.Growth.Raise != nil || r.Growth.Services[0].To != nil {
		t.Errorf("a growth that no input reaches: %+v", r.Growth)
	}
}

// TestGate: the bounds decide, and what has no pressure is not vouched for.
func TestGate(t *testing.T) {
	most := func(x study.Percent) *study.Percent { return &x }
	half := append(slicesOf(100, 30), slicesOf(0, 30)...)
	for name, tt := range map[string]struct {
		recording telemetry.Recording
		most      *study.Percent
		want      error
	}{
		"no threshold":       {recordedOf("", "v", 1, reads(4096, half...)), nil, nil},
		"below":              {recordedOf("", "v", 1, reads(4096, half...)), most(60), nil},
		"above":              {recordedOf("", "v", 1, reads(4096, half...)), most(40), model.ErrThreshold},
		"bounds on both":     {recordedOf("", "v", 60, reads(4096, slicesOf(60, 9)...)), most(10), model.ErrInvalid},
		"lacks the bytes":    {recordedOf("", "v", 1, columns{telemetry.Ops: half}), most(60), model.ErrInvalid},
		"lacks but is above": {recordedOf("", "v", 1, columns{telemetry.Ops: half}), most(40), model.ErrThreshold},
		"nothing":            {recordedOf("", "v", 1, columns{telemetry.Credits: {1, 1}}), most(40), model.ErrInvalid},
	} {
		p := params(nil, file("", "m", "limits:\n- {of: ops, rate: 100}\n- {of: bytes, rate: 900MiB/s}"))
		p.FailAbove = tt.most
		if err := p.gate(resultOf(t, p, tt.recording)); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: gate %v, want %v", name, err, tt.want)
		}
	}
}

// TestDocument: the whole document, and the JSON contract.
func TestDocument(t *testing.T) {
	p := paper()
	p.Critical, p.Growth, p.Requests, p.Zone = 90, 2, 500, "UTC"
	p.Prices = "model,input,per_month,currency\nebs,iops,0.1,USD\nebs,throughput,0.5,USD\nm5.large,node,70,USD\n"
	quiet := recordedOf("db-2", "vol-1", 10, reads(64<<10, append(slicesOf(50, 15), slicesOf(80, 15)...)...))
	quiet.Rates[telemetry.ExceededOps] = slicesOf(0, 30)
	unlike := recordedOf("db-2", "network", 10, columns{telemetry.SentBytes: slicesOf(1, 30)})
	r := resultOf(t, p, clipped("db-1"), quiet, unlike)
	r.title = "Service level pressure of x.csv"
	golden.JSON(t, "testdata/result.json", r)
	golden.JSON(t, "testdata/document.json", r.document())
	if _, ok := any(r.document()).(*doc.Document); !ok || len(r.document().Sections) < 5 {
		t.Errorf("%d sections", len(r.document().Sections))
	}
}

// TestContract: scripts rely on these keys.
func TestContract(t *testing.T) {
	text, err := json.Marshal(resultOf(t, paper(), clipped("db-1")))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Period   *float64 `json:"period_s"`
		Services []map[string]json.RawMessage
		Advice   *[]any
		Doubts   *[]any
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Period == nil || len(got.Services) != 2 ||
		got.Advice == nil {
		t.Fatalf("%v: %s", err, text)
	}
	for key, inner := range map[string]string{"node": "", "service": "", "quality": "", "exceeds": "",
		"slp":  "mean p1 p25 p75 p99",
		"tcpt": "percent lo hi", "mcpt": "seconds lo hi"} {
		var of map[string]float64
		if got.Services[0][key] == nil {
			t.Errorf("no key %s: %s", key, text)
		}
		for _, k := range strings.Fields(inner) {
			_ = json.Unmarshal(got.Services[0][key], &of) // ci is an object
			if _, ok := of[k]; !ok {
				t.Errorf("no key %s.%s: %s", key, k, got.Services[0][key])
			}
		}
	}
}
