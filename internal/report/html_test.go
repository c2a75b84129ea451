package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/scalebench/scalebench/internal/model"
)

// pageCase makes a page's input.
type pageCase func() (model.RunData, []model.Finding, HTMLOptions)

// plainOptions are those of a page without scalings and ranking.
var plainOptions = HTMLOptions{Generated: day, Version: "v0.1.0"}

// cases are the pages that every check looks at.
func cases() map[string]pageCase {
	out := map[string]pageCase{"lab": labCase, "hostile lab": hostileLab, "broken lab": brokenLab}
	for name, build := range plainCases() {
		out[name] = func() (model.RunData, []model.Finding, HTMLOptions) {
			d, fs := build()
			return d, fs, plainOptions
		}
	}
	return out
}

// plainCases are those of one workload without a monitor.
func plainCases() map[string]func() (model.RunData, []model.Finding) {
	one := quarter()
	one.nodes, one.trials = 1, 1
	long := channels()
	return map[string]func() (model.RunData, []model.Finding){
		"one node": func() (model.RunData, []model.Finding) { return one.build() },
		"quarter":  func() (model.RunData, []model.Finding) { return quarter().build() },
		"channels": func() (model.RunData, []model.Finding) { return long.build() },
		"gain":     func() (model.RunData, []model.Finding) { return gain().build() },
		"none":     func() (model.RunData, []model.Finding) { return none().build() },
		"large":    func() (model.RunData, []model.Finding) { return large().build() },
		"mixed":    mixed, "cancelled": cancelled, "twenty metrics": twenty, "hostile": hostile, "broken": broken,
		"empty": func() (model.RunData, []model.Finding) { return model.RunData{}, nil },
	}
}

// twenty is a run with 20 metrics of one workload.
func twenty() (model.RunData, []model.Finding) {
	d, fs := gain().build()
	for i := range 19 {
		f := fs[0]
		f.Metric = fmt.Sprintf("metric_%02d", i+2)
		fs = append(fs, f)
	}
	return d, fs
}

const attack = `<script>alert(1)</script>"'><img src=x onerror=alert(2)> https://evil.example/` + "\x1b[31m\u202e\x00\xff{{.}}"

// hostile has an attack in every string, the words of the vocabulary and the
// ids that hold the data together apart.
func hostile() (model.RunData, []model.Finding) {
	d, fs := mixed()
	poison(reflect.ValueOf(&d).Elem())
	for i := range fs {
		poison(reflect.ValueOf(&fs[i]).Elem())
	}
	return d, fs
}

// kept are the types whose values the page treats as words or references.
var kept = map[reflect.Type]bool{
	reflect.TypeFor[model.StepID](): true, reflect.TypeFor[model.TaskID](): true, reflect.TypeFor[model.Phase](): true,
	reflect.TypeFor[model.StepState](): true, reflect.TypeFor[model.Severity](): true,
}

func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && !kept[v.Type()] {
			v.SetString(attack)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf(attack), reflect.ValueOf(attack))
		}
	}
}

// hostileLab has attacks in everything that the monitor, the histograms and
// the analysis bring.
func hostileLab() (model.RunData, []model.Finding, HTMLOptions) {
	d, fs, o := labCase()
	for i := range d.Results {
		for k := range d.Results[i].Samples {
			poison(reflect.ValueOf(&d.Results[i].Samples[k]).Elem())
		}
		for k := range d.Results[i].Histograms {
			d.Results[i].Histograms[k].Metric += attack
		}
	}
	for i := range d.Steps {
		for k := range d.Steps[i].Tasks {
			if spec := &d.Steps[i].Tasks[k].Spec; spec.Subject != "" {
				spec.Subject += attack
			}
		}
	}
	for i := range o.Scalings {
		s := &o.Scalings[i]
		s.Unit, s.Metric, s.Warnings = attack, attack, []string{attack}
		if s.Limit != nil {
			s.Limit.Text, s.Limit.Among = attack, attack
		}
	}
	poison(reflect.ValueOf(o.Ranking).Elem())
	return d, fs, o
}

// brokenLab has values that a damaged store can bring.
func brokenLab() (model.RunData, []model.Finding, HTMLOptions) {
	d, fs, o := labCase()
	for i := range d.Results {
		r := &d.Results[i]
		for k := range r.Histograms {
			r.Histograms[k].Encoded = r.Histograms[k].Encoded[:10*(i%9)]
		}
		switch i % 5 {
		case 0:
			r.Host = nil
		case 1:
			for k := range r.Host {
				r.Host[k].Values[k%3] = math.NaN()
			}
		case 2:
			r.Host[i%len(r.Host)].Values = nil
		case 3:
			for k := range r.Host {
				r.Host[k].Offsets, r.Host[k].Values = r.Host[k].Offsets[:1], r.Host[k].Values[:1]
			}
		}
	}
	for i := range o.Scalings {
		s := &o.Scalings[i]
		for k := range s.Points {
			s.Points[k].Total = []float64{math.NaN(), math.Inf(1), 0, -1}[k%4]
		}
		if s.Fit != nil {
			s.Fit.Slope, s.Fit.Cap = math.NaN(), ptr(math.Inf(1))
		}
	}
	o.Ranking.Resources[0].Finding.CDI = ptr(math.NaN())
	return d, fs, o
}

// broken has values that arithmetic can produce and a page must survive.
func broken() (model.RunData, []model.Finding) {
	d, fs := quarter().build()
	f := &fs[0]
	f.Serial.Mean, f.Serial.SD, f.Parallel.Total = ptr(math.NaN()), ptr(math.Inf(1)), ptr(math.Inf(-1))
	f.CDI, f.CI = ptr(math.NaN()), &model.Interval{math.Inf(-1), math.NaN()}
	f.CDITrials = []float64{math.NaN(), math.Inf(1)}
	f.Pairs[0].Serial, f.Pairs[1].Parallel, f.Pairs[2].ParallelWhole = math.NaN(), math.Inf(1), math.NaN()
	f.Overlap, f.StartSkewMS = ptr(math.NaN()), ptr(math.Inf(1))
	for i := range d.Results {
		if s := d.Results[i].Series; len(s) > 0 && i%2 == 0 {
			s[0].Values[0] = math.NaN()
			s[0].Values = s[0].Values[:len(s[0].Values)-1]
		}
	}
	d.Results[0].Ended = d.Results[0].Started.Add(-1)
	return d, fs
}

func render(t *testing.T, d model.RunData, fs []model.Finding) string {
	t.Helper()
	return renderWith(t, d, fs, plainOptions)
}

func renderWith(t *testing.T, d model.RunData, fs []model.Finding, o HTMLOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, d, fs, o); err != nil {
		t.Fatalf("HTML: %v", err)
	}
	return b.String()
}

// element is a start tag of a parsed page.
type element struct {
	name  string
	attrs map[string]string
}

// elements parses a page as XML with the liberties of HTML; the style sheet and
// the script have been checked to hold no markup.
func elements(t *testing.T, pageText string) []element {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(pageText))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var out []element
	var open []string
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			el := element{e.Name.Local, make(map[string]string)}
			for _, a := range e.Attr {
				el.attrs[a.Name.Local] = a.Value
			}
			out, open = append(out, el), append(open, e.Name.Local)
		case xml.EndElement:
			if last := open[len(open)-1]; last != e.Name.Local {
				t.Fatalf("</%s> closes <%s>", e.Name.Local, last)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) != 0 {
		t.Fatalf("never closed: %v", open)
	}
	return out
}

var allowed = strings.Fields(`a article b body br button circle code dd defs details div dl dt figcaption figure footer
	h1 h2 h3 head header html li line main meta p path pattern polygon polyline pre rect script section span style summary svg
	table tbody td text th thead title tr ul`)

func TestPagesAreSoundAndSelfContained(t *testing.T) {
	known := make(map[string]bool)
	for _, name := range allowed {
		known[name] = true
	}
	for name, build := range cases() {
		t.Run(name, func(t *testing.T) {
			d, fs, o := build()
			counts, ids, hrefs := make(map[string]int), make(map[string]int), []string{}
			for _, e := range elements(t, renderWith(t, d, fs, o)) {
				counts[e.name]++
				if !known[e.name] {
					t.Errorf("element <%s>", e.name)
				}
				checkAttributes(t, e)
				if id := e.attrs["id"]; id != "" {
					ids[id]++
				}
				if h, ok := e.attrs["href"]; ok {
					hrefs = append(hrefs, h)
				}
			}
			if counts["script"] != 1 || counts["style"] != 1 || counts["h1"] != 1 {
				t.Errorf("%d scripts, %d style sheets, %d main headings, want one of each", counts["script"], counts["style"], counts["h1"])
			}
			for id, n := range ids {
				if n != 1 {
					t.Errorf("id %q stands %d times", id, n)
				}
			}
			for _, h := range hrefs {
				if id, ok := strings.CutPrefix(h, "#"); !ok || ids[id] != 1 {
					t.Errorf("link to %q leads nowhere", h)
				}
			}
		})
	}
}

// geometry are attributes that must hold numbers.
var geometry = regexp.MustCompile(`^(x|y|x1|x2|y1|y2|cx|cy|r|width|height|points)$`)

var numbers = regexp.MustCompile(`^-?[0-9.]+%?([ ,]-?[0-9.]+)*$`)

func checkAttributes(t *testing.T, e element) {
	t.Helper()
	for name, value := range e.attrs {
		switch {
		case strings.HasPrefix(name, "on"), name == "src", name == "style", name == "srcset", name == "action":
			t.Errorf("<%s> has attribute %s=%q", e.name, name, value)
		case geometry.MatchString(name) && !numbers.MatchString(value):
			t.Errorf("<%s> has %s=%q, want numbers", e.name, name, value)
		case name == "class" && strings.ContainsAny(value, `<>"'&`):
			t.Errorf("<%s> has class %q", e.name, value)
		}
	}
	if e.name == "svg" && e.attrs["class"] != "mark" && e.attrs["viewBox"] == "" {
		if e.attrs["aria-hidden"] != "true" && (e.attrs["role"] != "img" || e.attrs["aria-label"] == "") {
			t.Errorf("a drawing says nothing to who does not see it: %v", e.attrs)
		}
	}
}

// The script and the style sheet hold nothing that ends them early or loads
// anything; elements relies on the first.
func TestCompanionsHoldNoMarkup(t *testing.T) {
	for name, text := range map[string]string{"script": script, "style": styleSheet} {
		for _, bad := range []string{"</", "<!--", "http:", "https:", "//cdn", "@import", "url(h", "fetch(", "XMLHttp"} {
			if strings.Contains(text, bad) {
				t.Errorf("the %s holds %q", name, bad)
			}
		}
	}
}

// No control character reaches a reader.
func TestHostileTextIsHarmless(t *testing.T) {
	d, fs := hostile()
	got := render(t, d, fs)
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	var b bytes.Buffer
	o := Options{Width: 100}
	nodes := make([]model.NodeInfo, len(d.Nodes))
	for i, n := range d.Nodes {
		nodes[i] = model.NodeInfo{Node: n, Status: attack, Task: attack}
	}
	for _, err := range []error{
		Findings(&b, fs, Text, o), Findings(&b, fs, Text, Options{}), Bars(&b, fs, o), Show(&b, d, Text, o),
		Runs(&b, []model.Run{d.Run}, Text, o), Nodes(&b, nodes, Text, o),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"page": got, "text": b.String()} {
		for _, r := range text {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("the %s holds %U", name, r)
			}
		}
	}
}

// What the policy admits is what the page holds.
func TestPolicyMatchesPage(t *testing.T) {
	got := render(t, model.RunData{}, nil)
	for tag, text := range map[string]string{"script": script, "style": styleSheet} {
		if !strings.Contains(got, "<"+tag+">"+text+"</"+tag+">") {
			t.Errorf("the %s was altered on its way: its hash no longer fits", tag)
		}
	}
	meta := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)
	if meta == nil || !strings.Contains(meta[1], "default-src &#39;none&#39;") || strings.Contains(meta[1], "unsafe") {
		t.Errorf("policy = %q, want nothing but what the page brings", meta)
	}
}

// The figures of the page are those of the findings.
func TestPageShowsTheNumbers(t *testing.T) {
	d, fs := mixed()
	got := render(t, d, fs)
	for _, want := range []string{
		"2 of 5 metrics degrade", "49.8 %", "[36.5, 63.1]", "−8.2 %", "unknown</text>", "overlap is 79 %, below 90 %",
		"The run is incomplete: 1 step has no valid attempt", "1 step of 42 not valid and not scored",
		"they differ in CPU model, microcode", "AMD EPYC 9R14", "destination does not support O_DIRECT",
		"not heard of for 10 s", "population standard deviation", "raid0: S P S P", "name: disks of zone b",
		"kind: cpu", "mean 957 MB/s, SD 18 (1.9 %)", "mean 481 MB/s, SD 266 (55.3 %)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Where nodes are alike, nothing is marked as different.
func TestNodeFacts(t *testing.T) {
	x := fixture{nodes: 12}
	var alike, differ []model.Node
	for i := range 12 {
		differ = append(differ, x.node(i))
	}
	alike = differ[:5]
	if got := differText(alike); got != "" {
		t.Errorf("differText of like nodes = %q, want nothing", got)
	}
	if got, want := differText(differ), "The nodes are not alike: they differ in CPU model, microcode"; got != want {
		t.Errorf("differText = %q, want %q", got, want)
	}
	_, view := nodeFacts(differ)
	var marked []string
	for _, row := range view.Rows {
		for _, c := range row {
			if strings.Contains(c.Class, "note") {
				marked = append(marked, c.Lines...)
			}
		}
	}
	if got, want := fmt.Sprint(marked), "[AMD EPYC 9R14 0xa101148]"; got != want {
		t.Errorf("marked = %s, want %s", got, want)
	}
}

// A failing writer is reported, with the run.
func TestHTMLReportsFailure(t *testing.T) {
	d, fs := quarter().build()
	err := HTML(brokenPipe{}, d, fs, HTMLOptions{})
	if !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), string(testRun)) {
		t.Errorf("HTML to a closed pipe: %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
