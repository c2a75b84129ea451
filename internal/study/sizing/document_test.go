package sizing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/test/golden"
	"github.com/scalebench/scalebench/test/skip"
)

func ptr[T any](v T) *T { return &v }

// section53 is the paper's arithmetic of section 5.3, the input taken as
// 4.8 MB/s a node and 5.3 MB a video, beside a resource that was not seen to end and
// one that was not measured.
func section53() *Result {
	node := 4.8 // videos a second, so that 590 take 123 nodes
	receive := Resource{
		Resource: "network.receive", Unit: "byte/s", Demand: 5.3e6 * node, DemandSource: "given", Capacity: ptr(3125e6),
		CapacityCI: &evaluation.Interval{3050e6, 3200e6}, MeasuredAt: 72, CDI: ptr(41.2), CDICI: &evaluation.Interval{38, 44.5},
		Answer: Fails, NodeLimit: ptr(3125 / 5.3 / node), RateLimit: ptr(3125 / 5.3), Largest: ptr(122),
		LargestRate: ptr(122 * node), LargestCI: &[2]int{119, 125}, Needed: 125 * 5.3e6 * node, Text: "network.receive: fails",
	}
	cpu := Resource{Resource: "cpu", Unit: "op/s", Demand: 2e6, Capacity: ptr(400e6), MeasuredAt: 72, Answer: Fits, Needed: 250e6}
	put := Resource{Resource: "objectstore.put", Unit: "byte/s", Demand: 3e6, Answer: Untested, Needed: 375e6}
	return &Result{
		Target: 600, NodeRate: node, Nodes: 125, Answer: Fails, Binding: "network.receive", Largest: ptr(122),
		LargestRate: ptr(122 * node), Resources: []Resource{receive, cpu, put},
		Rate:     &queueing.Band{Nodes: 125, Lower: 557.83, Upper: 3125 / 5.3},
		Measured: []Measured{{Nodes: 20, Rate: 95.2, CI: &evaluation.Interval{93, 97.4}, Lower: 95.1, Upper: 96}, {Nodes: 72, Rate: 333.3, Lower: 337.7, Upper: 345.6}},
		Doubts:   []model.Doubt{{Code: "not_measured", Severity: model.Warning, Text: "objectstore.put was not measured"}},
		Warnings: []string{"objectstore.put was not measured"},
	}
}

// TestDocument: the whole document, and its JSON contract.
func TestDocument(t *testing.T) {
	for name, value := range map[string]any{"result.json": section53(), "document.json": section53().Document()} {
		golden.JSON(t, "testdata/"+name, value)
	}
}

const attack = "\x1b[31m</script><img src=x onerror=alert(1)>\"'&"

// plans are what a document must survive.
func plans() map[string]*Result {
	none, fits, huge, bad, hostile := section53(), section53(), section53(), section53(), section53()
	for i := range none.Resources {
		none.Resources[i].Capacity = nil
	}
	none.Rate, none.Measured = nil, nil
	bad.Rate = &queueing.Band{Nodes: 125, Lower: math.NaN(), Upper: math.Inf(1)}
	refused := section53()
	refused.Answer, refused.Binding, refused.Largest, refused.LargestRate, refused.against = Unknown, "", nil, nil, "6 nodes did 9 jobs/s in run X, the plan says 1.7"
	fits.Answer, fits.Nodes, fits.Target = Fits, 40, 192
	huge.Nodes = 3
	for i := range bad.Resources {
		r := &bad.Resources[i]
		r.Capacity, r.CapacityCI, r.Demand = ptr(math.Inf(1)), &evaluation.Interval{math.NaN(), 1}, math.NaN()
	}
	hostile.Binding, hostile.Warnings = attack, []string{attack}
	for i := range hostile.Resources {
		r := &hostile.Resources[i]
		r.Resource, r.Unit, r.Text, r.Answer = attack, attack, attack, attack
	}
	return map[string]*Result{
		"fails": section53(), "not measured": none, "fits": fits, "far below": huge, "broken": bad, "hostile": hostile, "unknown": refused, "empty": {},
	}
}

// TestDocumentsAreSound: every form of every plan can be made, says no NaN, and
// holds nothing of what came from outside as markup. A picture needs a capacity.
func TestDocumentsAreSound(t *testing.T) {
	for name, r := range plans() {
		d := r.Document()
		for form, write := range map[string]func(io.Writer) error{
			"html": func(w io.Writer) error { return render.HTML(w, d) },
			"svg":  func(w io.Writer) error { return render.SVG(w, d) },
			"text": func(w io.Writer) error { return render.Text(w, d, render.TextOptions{Width: 60}) },
			"csv":  func(w io.Writer) error { return render.CSV(w, d.Table()) },
			"md":   func(w io.Writer) error { return render.Markdown(w, d) },
		} {
			var b strings.Builder
			err := write(&b)
			if form == "svg" && (name == "not measured" || name == "empty") {
				if !errors.Is(err, model.ErrUsage) {
					t.Errorf("%s, svg: %v, want ErrUsage: there is no capacity to draw", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
			}
			if strings.Contains(b.String(), "NaN") {
				t.Errorf("%s, %s: says NaN:\n%s", name, form, b.String())
			}
			live := map[string]string{"html": "<img", "svg": "<img", "text": "\x1b", "md": " <img"}[form]
			if live != "" && strings.Contains(b.String(), live) || form == "html" && strings.Count(b.String(), "<script") != 1 {
				t.Errorf("%s, %s: what came from outside is alive:\n%s", name, form, b.String())
			}
		}
	}
}

// TestDocumentTravels: a document is the same after it was encoded and decoded.
func TestDocumentTravels(t *testing.T) {
	for name, r := range plans() {
		b, err := json.Marshal(r.Document())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back doc.Document
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, err := json.Marshal(&back); err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s: the document changes on its way: %v", name, err)
		}
	}
}

func TestLead(t *testing.T) {
	fits, bound, untested, none := section53(), section53(), section53(), section53()
	none.Largest, none.LargestRate = ptr(0), ptr(0.)
	fits.Answer, fits.Largest, fits.LargestRate = Fits, nil, nil
	bound.Answer, bound.Target, bound.Nodes = Fits, 480, 100
	untested.Answer, untested.Largest = Untested, nil
	near := section53()
	near.Answer, near.Target, near.Nodes, near.few, near.many = Fits, 480, 100, 100, 100
	near.Resources[0].Answer, near.Resources[0].CapacityCI = Fits, &evaluation.Interval{1, 2 * *near.Resources[0].Capacity}
	near.Resources[0].most = near.Resources[0].Needed
	for _, c := range []struct {
		r    *Result
		want string
	}{
		{section53(), "600 jobs/s take 125 nodes, but the largest useful fleet is 122 nodes (585.6 jobs/s): network.receive is used up."},
		{fits, "600 jobs/s take 125 nodes, and that fits what was measured. No resource was shown to end growth."},
		{bound, "480 jobs/s take 100 nodes, and that fits. The largest useful fleet is 122 nodes (585.6 jobs/s): then network.receive is used up."},
		{near, "480 jobs/s take 100 nodes, and that fits by the means, but is too close to call: " + near.Resources[0].Resource + " may not suffice. The largest useful fleet is 122 nodes (585.6 jobs/s): then network.receive is used up."},
		{none, "600 jobs/s take 125 nodes, but not even one node fits: it takes more of network.receive than there is."},
		{untested, "600 jobs/s take 125 nodes, which is more than was measured, or not measured at all: it is unknown whether that works."},
	} {
		if got := c.r.Document().Answer; got != c.want {
			t.Errorf("the answer %s is %q, want %q", c.r.Answer, got, c.want)
		}
	}
}

// The crossing stands where the demand takes the whole capacity.
func TestChartCrossesAtTheLimit(t *testing.T) {
	c, ok := section53().chart()
	if !ok {
		t.Fatal("no chart")
	}
	at := func(mark chart.Mark, role chart.Role) chart.Layer {
		i := slices.IndexFunc(c.Layers, func(l chart.Layer) bool { return l.Mark == mark && l.Role == role })
		if i < 0 {
			t.Fatalf("no %s of role %q", mark, role)
		}
		return c.Layers[i]
	}
	network, cpu := at(chart.Line, chart.Series(0)), at(chart.Line, chart.Series(1))
	want := 3125 / 5.3 / 4.8
	if slope := network.Y[1] / network.X[1]; math.Abs(100/slope-want) > 1e-9 {
		t.Errorf("the network's line reaches 100 %% at %v nodes, want %v", 100/slope, want)
	}
	if cpu.Name != "cpu: all that was measured is used by 200 nodes; it was not shown to be a limit" {
		t.Errorf("the cpu's line is called %q", cpu.Name)
	}
	marks := at(chart.Point, chart.Plain)
	if diff := cmp.Diff([]bool{false, true}, marks.Hollow); diff != "" || math.Abs(marks.X[0]-want) > 1e-9 || marks.X[1] != 200 {
		t.Errorf("marks %+v, want that of the network alone filled, at %v", marks, want)
	}
	whisker := at(chart.Rule, chart.Interval)
	if !(whisker.X[0] < want && whisker.X2[0] > want) {
		t.Errorf("interval %v to %v does not hold %v", whisker.X, whisker.X2, want)
	}
	if got := at(chart.Rule, chart.Limit); got.X[0] != 125 || got.Text[0] != "wanted: 125 nodes for 600 jobs/s" {
		t.Errorf("the wanted fleet is at %v, %q", got.X, got.Text)
	}
	few := section53()
	few.Nodes = 20
	if c, _ := few.chart(); *c.X.Hi > 150 {
		t.Errorf("for 20 nodes the axis reaches to %v: a crossing at 200 is too far to be drawn", *c.X.Hi)
	}
}

// TestRateChart: the band has its corner where the resource is used up, and what
// was measured stands in it; without a limit and without a measurement there is
// nothing to draw.
func TestRateChart(t *testing.T) {
	r := section53()
	c, ok := r.rateChart()
	if !ok || c.Layers[0].Mark != chart.Band {
		t.Fatalf("%v, %+v, want a chart that begins with a band", ok, c.Layers)
	}
	band, knee := c.Layers[0], 3125/5.3/4.8
	corner := slices.Index(band.X, knee)
	if corner < 0 || math.Abs(band.Y2[corner]-3125/5.3) > 1e-9 || band.X[len(band.X)-1] != *c.X.Hi {
		t.Errorf("band over %v to %v, want a corner at %v, and the whole width of %v", band.X, band.Y2, knee, *c.X.Hi)
	}
	for i := 1; i < len(band.X); i++ {
		if band.X[i] <= band.X[i-1] || band.Y[i] < band.Y[i-1] || band.Y[i] > band.Y2[i] {
			t.Errorf("at %v nodes the band is %v to %v, after %v", band.X[i], band.Y[i], band.Y2[i], band.Y[i-1])
		}
	}
	points := c.Layers[len(c.Layers)-1]
	if diff := cmp.Diff(chart.Values{20, 72}, points.X) + cmp.Diff(chart.Values{95.2, 333.3}, points.Y); diff != "" || points.Mark != chart.Point {
		t.Errorf("measured %+v (-want +got):\n%s", points, diff)
	}
	r.Resources, r.Measured = r.Resources[1:], nil
	if _, ok := r.rateChart(); ok {
		t.Error("there is a chart of nothing")
	}
}

// TestRateForPrograms: the columns at the end of the table.
func TestRateForPrograms(t *testing.T) {
	r := section53()
	r.NodesSafe, r.RateCI = ptr(180), &[2]float64{550, 600}
	var csv strings.Builder
	if err := render.CSV(&csv, r.Document().Table()); err != nil {
		t.Fatal(err)
	}
	head, rows, _ := strings.Cut(csv.String(), "\n")
	first, _, _ := strings.Cut(rows, "\n")
	if !strings.HasSuffix(head, ",warnings,rate_lower,rate_upper,nodes_safe,plan_answer,rate_ci_lo,rate_ci_hi") || !strings.HasSuffix(first, ",557.83,589.622641509434,180,fails,550,600") {
		t.Errorf("%s\n%s\nwant the band and the safe fleet at the end", head, first)
	}
}

// TestGate: the exit code of --fail-unless-fits.
func TestGate(t *testing.T) {
	skip.IfShort(t)
	for name, c := range map[string]struct {
		answers  []Answer
		unjudged []string
		want     error
	}{
		"fits":                  {[]Answer{Fits, Fits}, nil, nil},
		"one fails":             {[]Answer{Fits, Fails}, nil, model.ErrThreshold},
		"one untested":          {[]Answer{Untested, Fits}, nil, model.ErrInvalid},
		"untested, one fails":   {[]Answer{Untested, Fails}, nil, model.ErrThreshold},
		"unknown, fits":         {[]Answer{Fits, Fits}, []string{"r0"}, model.ErrInvalid},
		"unknown, untested":     {[]Answer{Untested, Fits}, []string{"r0"}, model.ErrInvalid},
		"unknown, other fails":  {[]Answer{Untested, Fails}, []string{"r0"}, model.ErrThreshold},
		"unknown, unlike fails": {[]Answer{Fits, Fails}, []string{"r1"}, model.ErrInvalid},
	} {
		r := &Result{Nodes: 1, held: true, unjudged: c.unjudged}
		for i, a := range c.answers {
			r.Resources = append(r.Resources, Resource{Resource: []string{"r0", "r1"}[i], Answer: a})
		}
		if err := r.Gate(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: Gate = %v, want %v", name, err, c.want)
		}
		r.held = false
		if err := r.Gate(); err != nil {
			t.Errorf("%s: Gate without --fail-unless-fits = %v", name, err)
		}
	}
}

// TestValidate: everything that is wrong is told at once, by the key.
func TestValidate(t *testing.T) {
	err := (&Params{Target: "2k/s", Demand: []string{"cpu=2core", "cpu=-1core", "bare=12"}, Capacity: []string{"disk.write=5"}}).Validate()
	if !errors.Is(err, model.ErrUsage) {
		t.Fatalf("Validate = %v, want ErrUsage", err)
	}
	for _, want := range []string{`target: "2k/s"`, "node_rate: is missing", `demand: "cpu=-1core"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Validate = %v, want %q among it", err, want)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("Validate = %v, want 3 problems: a bare number may be one of a table without units", err)
	}
	if err := (&Params{Target: "2/s", DemandRun: "latest"}).Validate(); err != nil {
		t.Errorf("Validate of a measured demand: %v", err)
	}
}
