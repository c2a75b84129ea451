package levels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// kib and mib are units of this page.
const kib, mib = 1 << 10, 1 << 20

// Shown is a model with its inputs, for programs: the form is a contract.
type Shown struct {
	Model  string         `json:"model"`
	About  string         `json:"about,omitempty"`
	Source Source         `json:"source,omitzero"`
	Scope  Scope          `json:"scope"`
	Inputs map[string]any `json:"inputs,omitempty"`
	Limits []ShownLimit   `json:"limits"`
	Kept   *Kept          `json:"kept,omitempty"`
	// TurnSize is the smallest size, in bytes, that a limit of bytes holds back; null: none.
	TurnSize *float64    `json:"turn_size"`
	Levels   []ShownSize `json:"levels,omitempty"`
	// Bucket is that of the first limit with one.
	Bucket *Bucket `json:"bucket,omitempty"`

	levels Levels
}

// ShownLimit is a limit with its name.
type ShownLimit struct {
	Name string `json:"name"`
	Level
}

// ShownSize are the levels of operations of one size, in bytes; Reads is the percentage
// of reads. What is not known, or has no limit, is null.
type ShownSize struct {
	Size  float64  `json:"size"`
	Reads float64  `json:"reads"`
	Ops   *float64 `json:"ops"`
	Bytes *float64 `json:"bytes"`
	Limit string   `json:"limit,omitempty"` // names of those that are reached first
	// BurstOps are the operations while all buckets have credits; null: no bucket.
	BurstOps *float64 `json:"burst_ops,omitempty"`
}

// Show is a model with these inputs, and its document.
func Show(m *Model, set map[string]string) (*Shown, *doc.Document, error) {
	l, err := m.Levels(set)
	if err != nil {
		return nil, nil, err
	}
	in, _ := m.resolve(set) // Levels read it
	s := &Shown{Model: m.Name, About: m.About, Source: m.Source, Scope: m.Scope, Inputs: map[string]any{}, Kept: m.Kept, levels: l}
	for name, x := range in.numbers {
		s.Inputs[name] = x
	}
	for name, word := range in.words {
		s.Inputs[name] = word
	}
	for _, lim := range l.Limits {
		s.Limits = append(s.Limits, ShownLimit{lim.Name(), lim})
		if s.Bucket == nil {
			s.Bucket = lim.Bucket
		}
	}
	if m.Service == Volume {
		s.size()
	}
	return s, s.document(m), nil
}

// mixes are the percentages of reads for which levels are shown, largest first.
func (s *Shown) mixes() []float64 {
	switch {
	case len(s.levels.Cells) > 0:
		mixes := axis(s.levels.Cells, func(c Cell) float64 { return c.Reads })
		slices.Reverse(mixes)
		return mixes
	case s.levels.directional():
		return []float64{100, 75, 50, 25, 0}
	}
	return []float64{100}
}

func (s *Shown) size() {
	sizes := []float64{4 * kib, 16 * kib, 32 * kib, 64 * kib, 128 * kib, 256 * kib, 512 * kib, 1024 * kib}
	if len(s.levels.Cells) > 0 {
		sizes = axis(s.levels.Cells, func(c Cell) float64 { return float64(c.Size) })
	} else {
		s.TurnSize = num.IfFinite(s.levels.Turn(s.mixes()[0] / 100))
	}
	for _, reads := range s.mixes() {
		for _, size := range sizes {
			e := s.levels.At(size, reads/100)
			row := ShownSize{Size: size, Reads: reads, Ops: num.IfFinite(e.Ops), Bytes: num.IfFinite(e.Bytes), Limit: s.names(e.Limits)}
			if s.Bucket != nil {
				row.BurstOps = num.IfFinite(s.levels.Burst().At(size, reads/100).Ops)
			}
			s.Levels = append(s.Levels, row)
		}
	}
}

func (s *Shown) names(limits []int) string {
	var names []string
	for _, i := range limits {
		names = append(names, s.Limits[i].Name)
	}
	return strings.Join(names, ", ")
}

// Print is a rate of a limit: "300 op/s", "60 MiB/s".
func (l Level) Print(x float64) string {
	switch l.Quality {
	case Ops:
		return num.Digits(x, 5) + " op/s"
	case Bytes:
		return rateOfBytes(x)
	case CPU:
		return num.Digits(x, 4) + " cores"
	}
	return num.Digits(x, 4)
}

func rateOfBytes(x float64) string { return num.Digits(x/mib, 4) + " MiB/s" }

func opsText(x float64) string { return num.Digits(x, 5) + " op/s" }

func kibText(x float64) string { return num.Digits(x/kib, 3) + " KiB" }

func (s *Shown) document(m *Model) *doc.Document {
	d := &doc.Document{Title: "Expected service levels: " + s.Model, Answer: s.answer(), More: s.more()}
	for _, name := range m.InputNames() {
		if x, given := s.Inputs[name].(float64); given {
			d.About = append(d.About, doc.Field{Label: name, Text: m.Inputs[name].print(x)})
		} else if word, given := s.Inputs[name].(string); given {
			d.About = append(d.About, doc.Field{Label: name, Text: word})
		}
	}
	if s.Source.Title != "" {
		text := s.Source.Title
		if s.Source.Read != "" {
			text += ", read on " + s.Source.Read
		}
		d.About = append(d.About, doc.Field{Label: "source", Text: text})
	}
	if len(s.Levels) > 0 {
		d.AddSection("sizes", "Levels by size of operations", "", doc.Everywhere, doc.Block{Table: s.sizeTable()})
		d.AddSection("figure", "Levels over the size", "", doc.Page, doc.Block{Figure: s.figure()})
	}
	if len(s.Limits) > 0 {
		d.AddSection("limits", "Limits", "", doc.Everywhere, doc.Block{Table: s.limitTable()})
	}
	return d
}

// answer is the sentence at the top.
func (s *Shown) answer() string {
	if len(s.Levels) == 0 {
		var all []string
		for _, lim := range s.Limits {
			all = append(all, fmt.Sprintf("%s %s", lim.Name, lim.Print(lim.Rate.Level())))
		}
		return fmt.Sprintf("Expected of %s: %s.", s.Model, strings.Join(all, ", "))
	}
	first := s.Levels[0]
	i := slices.IndexFunc(s.Levels, func(r ShownSize) bool { return r.Reads != first.Reads })
	if i < 0 {
		i = len(s.Levels)
	}
	last := s.Levels[i-1]
	text := fmt.Sprintf("%s serves %s of %s and %s of %s", s.Model, num.Optional(first.Ops, opsText), kibText(first.Size), num.Optional(last.Ops, opsText), kibText(last.Size))
	if s.levels.directional() {
		text += ", if all are reads"
	}
	return text + "."
}

func (s *Shown) more() (out []string) {
	switch {
	case len(s.Levels) == 0 || len(s.levels.Cells) > 0:
	case s.TurnSize == nil:
		out = append(out, "The limit of operations is reached first at every size.")
	case *s.TurnSize == 0:
		out = append(out, "The limit of bytes is reached first at every size.")
	default:
		text := fmt.Sprintf("Operations of %s and more reach the limit of bytes first", kibText(*s.TurnSize))
		if s.again() {
			text += "; those just above a multiple of the size of splitting reach that of operations"
		}
		out = append(out, text+".")
	}
	for _, lim := range s.Limits {
		if b := lim.Bucket; b != nil {
			text := fmt.Sprintf("%s: a full bucket lasts %s s at %s", lim.Name, num.Digits(b.BurstTime(), 4), lim.Print(b.Burst))
			if refill := b.RefillTime(); num.Finite(refill) {
				text += fmt.Sprintf(", and fills in %s s", num.Digits(refill, 5))
			}
			out = append(out, text+".")
		}
	}
	if s.Kept != nil {
		out = append(out, fmt.Sprintf("The provider promises at least %s of these levels for %s of the time.", num.Share(s.Kept.Of), num.Share(s.Kept.Share)))
	}
	if s.Scope == OfNode {
		out = append(out, "All volumes of the node share these levels.")
	}
	return out
}

// again reports whether operations above the turn are held back by a limit of operations
// again.
func (s *Shown) again() bool {
	for _, x := range s.points() {
		if x <= *s.TurnSize*(1+same) {
			continue
		}
		e := s.levels.At(x, s.mixes()[0]/100)
		if !slices.ContainsFunc(e.Limits, func(i int) bool { return s.Limits[i].Quality == Bytes }) {
			return true
		}
	}
	return false
}

func (s *Shown) sizeTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Number("size", "size"), doc.Number("reads", "reads"), doc.Number("ops", "operations"),
		doc.Number("bytes", "bytes"), doc.Label("limit", "limit"), doc.Number("burst_ops", "burst")}}
	for _, r := range s.Levels {
		t.Add(doc.Of(r.Size, kibText(r.Size)), doc.Of(r.Reads, num.Digits(r.Reads, 3)+" %"), doc.Optional(r.Ops, opsText),
			doc.Optional(r.Bytes, rateOfBytes), doc.Say(r.Limit), doc.Optional(r.BurstOps, opsText))
	}
	t.Drop(func(key string) bool {
		return key == "reads" && len(s.mixes()) == 1 || key == "burst_ops" && s.Bucket == nil || key == "limit" && len(s.levels.Cells) > 0
	})
	return t
}

// limitTable has a row for each limit, and for each level of a distribution.
func (s *Shown) limitTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("limit", "limit"), doc.Number("rate", "rate"), doc.Number("share", "share"), doc.Number("unit", "counts once\nfor each"),
		doc.Number("burst", "burst"), doc.Number("burst_s", "lasts"), doc.Number("refill_s", "fills in")}}
	buckets, shares := false, false
	for _, lim := range s.Limits {
		b := Bucket{Size: math.NaN(), Burst: math.NaN(), Fill: math.NaN()}
		if lim.Bucket != nil {
			b, buckets = *lim.Bucket, true
		}
		unit := doc.Of(nil)
		if lim.Unit > 0 {
			unit = doc.Of(lim.Unit, kibText(lim.Unit))
		}
		for _, v := range lim.Rate {
			shares = shares || v.Share != 1
			t.Add(doc.Say(lim.Name), doc.Of(v.Rate, lim.Print(v.Rate)), doc.Of(v.Share, num.Share(v.Share)), unit,
				doc.Optional(num.IfFinite(b.Burst), lim.Print), doc.Optional(num.IfFinite(b.BurstTime()), seconds), doc.Optional(num.IfFinite(b.RefillTime()), seconds))
		}
	}
	t.Drop(func(key string) bool {
		return strings.HasPrefix(key, "burst") && !buckets || key == "refill_s" && !buckets || key == "share" && !shares
	})
	return t
}

func seconds(x float64) string { return num.Digits(x, 5) + " s" }

// points are the sizes at which the figure has points: steps of 4 KiB, and both sides of
// each size of splitting.
func (s *Shown) points() (out []float64) {
	if len(s.levels.Cells) > 0 {
		return axis(s.levels.Cells, func(c Cell) float64 { return float64(c.Size) })
	}
	const step, most = 4 * kib, 1024 * kib
	for x := float64(step); x <= most; x += step {
		out = append(out, x)
	}
	for _, lim := range s.Limits {
		for x := lim.Unit; lim.Unit >= step && x < most; x += lim.Unit {
			out = append(out, x+1)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// figure has operations and bytes over the size, a line for each mix.
func (s *Shown) figure() *doc.Figure {
	x := chart.Axis{Kind: chart.Log, Label: "size of operations, KiB", Tight: true}
	for _, at := range []float64{4, 16, 64, 256, 1024} {
		x.Ticks = append(x.Ticks, chart.Tick{At: at, Text: num.Digits(at, 4)})
	}
	var ops, bytes []chart.Curve
	for _, reads := range s.mixes() {
		o := chart.Curve{}
		if len(s.mixes()) > 1 {
			o.Name = num.Digits(reads, 3) + " % reads"
		}
		b := o
		for _, size := range s.points() {
			e := s.levels.At(size, reads/100)
			o.Add(size/kib, num.IfFinite(e.Ops))
			b.Add(size/kib, num.IfFinite(e.Bytes/mib))
		}
		ops, bytes = append(ops, o), append(bytes, b)
	}
	panel := func(title, unit string, curves []chart.Curve) doc.Panel {
		c := chart.Curves(title+" over the size of operations", x, chart.Axis{Unit: unit}, curves)
		c.Layers = slices.DeleteFunc(c.Layers, func(l chart.Layer) bool { return l.Mark == chart.Point && len(s.levels.Cells) == 0 })
		return doc.Panel{Title: title, Chart: c}
	}
	return &doc.Figure{Columns: 2, Panels: []doc.Panel{panel("Operations a second", "op/s", ops), panel("Bytes a second", "MiB/s", bytes)}}
}

// List are the built-in models, and their document.
func List() ([]*Model, *doc.Document) {
	all := Builtin()
	t := &doc.Table{Columns: []doc.Column{doc.Label("model", "model"), {Key: "about", Head: "of", Wrap: 24}, {Key: "inputs", Head: "inputs", Wrap: 16},
		{Key: "source", Head: "source", Wrap: 24}, doc.Label("read", "read")}}
	for _, m := range all {
		t.Add(doc.Say(m.Name), doc.Say(m.About), doc.Say(strings.Join(m.InputNames(), ", ")), doc.Say(m.Source.Title), doc.Say(m.Source.Read))
	}
	d := &doc.Document{Title: "Models of expected service levels", Answer: fmt.Sprintf("The program comes with %s; a file of your own works alike.", num.Count(len(all), "model"))}
	d.AddSection("models", "Models", "", doc.Everywhere, doc.Block{Table: t})
	return all, d
}
