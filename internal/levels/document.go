package levels

import (
	"cmp"
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
	sizes  []float64 // in bytes
	mixes  []float64 // percentages of reads
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
	in, _ := m.resolve(set) // as Levels did
	s := &Shown{Model: m.Name, About: m.About, Source: m.Source, Scope: m.Scope, Kept: m.Kept,
		Inputs: map[string]any{}, levels: l}
	for name := range m.Inputs {
		if x, is := in.numbers[name]; is {
			s.Inputs[name] = x
		} else if word, is := in.words[name]; is {
			s.Inputs[name] = word
		}
	}
	for _, lim := range l.Limits {
		s.Limits = append(s.Limits, ShownLimit{lim.Name(), lim})
		s.Bucket = cmp.Or(s.Bucket, lim.Bucket)
	}
	s.fill(m.Service)
	return s, s.document(m), nil
}

// fill computes the levels by size: of a measured model those of its cells.
func (s *Shown) fill(service Service) {
	switch cells := s.levels.Cells; {
	case len(cells) > 0:
		s.sizes = axis(cells, func(c Cell) float64 { return float64(c.Size) })
		s.mixes = axis(cells, func(c Cell) float64 { return c.Reads })
	case service != Volume:
		return
	default:
		s.sizes, s.mixes = []float64{4 * kib, 16 * kib, 32 * kib, 64 * kib, 128 * kib, 256 * kib, 512 * kib,
			1024 * kib}, []float64{100}
		if s.levels.Directional() {
			s.mixes = []float64{0, 25, 50, 75, 100}
		}
		s.TurnSize = num.IfFinite(s.levels.Turn(1))
	}
	slices.Reverse(s.mixes)
	for _, reads := range s.mixes {
		for _, size := range s.sizes {
			e := s.levels.At(size, reads/100)
			row := ShownSize{Size: size, Reads: reads, Ops: num.IfFinite(e.Ops), Bytes: num.IfFinite(e.Bytes)}
			for _, i := range e.Limits {
				row.Limit = strings.TrimPrefix(row.Limit+", "+s.Limits[i].Name, ", ")
			}
			if s.Bucket != nil {
				row.BurstOps = num.IfFinite(s.levels.Burst().At(size, reads/100).Ops)
			}
			s.Levels = append(s.Levels, row)
		}
	}
}

// Format is a rate: "300 op/s", "60 MiB/s".
func (q Quality) Format(x float64) string {
	switch q {
	case Ops:
		return opsText(x)
	case Bytes:
		return bytesText(x)
	case CPU:
		return num.Digits(x, 4) + " cores"
	}
	return num.Digits(x, 4)
}

func opsText(x float64) string { return num.Digits(x, 5) + " op/s" }

func bytesText(x float64) string { return num.Digits(x/mib, 4) + " MiB/s" }

func seconds(x float64) string { return num.Digits(x, 5) + " s" }

// kibText has all digits of whole numbers, such as 1,024 KiB, and three of others.
func kibText(x float64) string {
	if n := int64(x / kib); float64(n)*kib == x {
		return num.Grouped(n) + " KiB"
	}
	return num.Digits(x/kib, 3) + " KiB"
}

func (s *Shown) document(m *Model) *doc.Document {
	d := &doc.Document{Title: "Expected service levels: " + s.Model, Answer: s.answer(), More: s.more()}
	for _, name := range m.InputNames() {
		switch x := s.Inputs[name].(type) {
		case float64:
			d.About = append(d.About, doc.Field{Label: name, Text: m.Inputs[name].print(x)})
		case string:
			d.About = append(d.About, doc.Field{Label: name, Text: x})
		}
	}
	if text := strings.TrimSuffix(s.Source.Title+", read on "+s.Source.Read, ", read on "); text != "" {
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

// answer has the level of each limit.
func (s *Shown) answer() string {
	all := []string{"its measured cells"}
	if len(s.levels.Cells) == 0 {
		all = nil
	}
	for _, lim := range s.Limits {
		text := lim.Name + " " + lim.Quality.Format(lim.Rate.Level())
		if lim.Bucket != nil {
			text += fmt.Sprintf(" (%s with credits)", lim.Quality.Format(lim.Bucket.Burst))
		}
		all = append(all, text)
	}
	return fmt.Sprintf("%s: %s.", s.Model, strings.Join(all, ", "))
}

func (s *Shown) more() (out []string) {
	turn := func(l Levels, of string, reads float64) string {
		switch at := l.Turn(reads); {
		case at > 0:
			return fmt.Sprintf("%s of %s are the smallest that reach the limit of bytes first", of, kibText(at))
		case at == 0:
			return of + " of every size reach the limit of bytes first"
		}
		return of + " of every size reach the limit of operations first"
	}
	if len(s.Levels) > 0 && len(s.levels.Cells) == 0 {
		kinds := []string{"operations"}
		if s.levels.Directional() {
			kinds = []string{"reads", "writes"}
		}
		for i, of := range kinds {
			reads := float64(1 - i)
			burst, base := turn(s.levels.Burst(), of, reads), turn(s.levels, of, reads)
			if burst != base {
				out = append(out, num.Sentence("with credits, "+burst))
				base = "without credits, " + base
			}
			out = append(out, num.Sentence(base))
		}
	}
	if s.Kept != nil {
		out = append(out, fmt.Sprintf("The provider promises at least %s of these levels for %s of the time. "+
			"A pressure of 100 %% is the whole level, not the promised share.", num.Share(s.Kept.Of), num.Share(s.Kept.Share)))
	}
	if s.Scope == OfNode {
		out = append(out, "All volumes of the node share these levels.")
	}
	return out
}

func (s *Shown) sizeTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Number("size", "size"), doc.Number("reads", "reads"),
		doc.Number("ops", "operations"),
		doc.Number("bytes", "bytes"), doc.Label("limit", "limit"), doc.Number("burst_ops", "with credits")}}
	for _, r := range s.Levels {
		t.Add(doc.Of(r.Size, kibText(r.Size)), doc.Of(r.Reads, num.Digits(r.Reads, 3)+" %"), doc.Optional(r.Ops, opsText),
			doc.Optional(r.Bytes, bytesText), doc.Say(r.Limit), doc.Optional(r.BurstOps, opsText))
	}
	t.Drop(func(key string) bool {
		return key == "reads" && len(s.mixes) == 1 || key == "burst_ops" && s.Bucket == nil ||
			key == "limit" && len(s.levels.Cells) > 0
	})
	return t
}

// limitTable has a row for each limit, and for each level of a distribution.
func (s *Shown) limitTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("limit", "limit"), doc.Number("rate", "rate"),
		doc.Number("share", "share"), doc.Number("unit", "counts once\nfor each"),
		doc.Number("burst_s", "a full bucket\nlasts"), doc.Number("refill_s", "and fills in")}}
	shares := false
	for _, lim := range s.Limits {
		lasts, fills, unit := math.NaN(), math.NaN(), num.IfFinite(lim.Unit)
		if b := lim.Bucket; b != nil {
			lasts, fills = b.BurstTime(), b.RefillTime()
		}
		if lim.Unit == 0 {
			unit = nil
		}
		for _, v := range lim.Rate {
			shares = shares || v.Share != 1
			t.Add(doc.Say(lim.Name), doc.Of(v.Rate, lim.Quality.Format(v.Rate)), doc.Of(v.Share, num.Share(v.Share)),
				doc.Optional(unit, kibText),
				doc.Optional(num.IfFinite(lasts), seconds), doc.Optional(num.IfFinite(fills), seconds))
		}
	}
	t.Drop(func(key string) bool {
		return strings.HasSuffix(key, "_s") && s.Bucket == nil || key == "share" && !shares
	})
	return t
}

// figure has operations and bytes over the size, a line for each mix. Its points are the
// sizes of the table, steps of 4 KiB between them, and both sides of each size of splitting.
func (s *Shown) figure() *doc.Figure {
	x := chart.Axis{Kind: chart.Log, Label: "size of operations, KiB", Tight: true}
	at := slices.Clone(s.sizes)
	for _, size := range s.sizes {
		x.Ticks = append(x.Ticks, chart.Tick{At: size / kib, Text: num.Digits(size/kib, 4)})
	}
	const step = 4 * kib
	for size := s.sizes[0]; len(s.levels.Cells) == 0 && size < s.sizes[len(s.sizes)-1]; size += step {
		at = append(at, size)
		for _, lim := range s.Limits {
			if lim.Unit > 0 && math.Mod(size, lim.Unit) == 0 {
				at = append(at, size+1)
			}
		}
	}
	slices.Sort(at)
	var ops, bytes []chart.Curve
	for _, reads := range s.mixes {
		o := chart.Curve{Name: num.Digits(reads, 3) + " % reads"}
		b := o
		for _, size := range slices.Compact(at) {
			e := s.levels.At(size, reads/100)
			o.Add(size/kib, num.IfFinite(e.Ops))
			b.Add(size/kib, num.IfFinite(e.Bytes/mib))
		}
		ops, bytes = append(ops, o), append(bytes, b)
	}
	panel := func(title, unit string, curves []chart.Curve) doc.Panel {
		c := chart.Curves(title+" over the size of operations", x, chart.Axis{Unit: unit}, curves)
		c.Layers = slices.DeleteFunc(c.Layers, func(l chart.Layer) bool {
			return l.Mark == chart.Point && len(s.levels.Cells) == 0
		})
		return doc.Panel{Title: title, Chart: c}
	}
	return &doc.Figure{Columns: 2, Panels: []doc.Panel{panel("Operations a second", "op/s", ops),
		panel("Bytes a second", "MiB/s", bytes)}}
}

// List are the built-in models, and their document.
func List() ([]*Model, *doc.Document) {
	all := Builtin()
	t := &doc.Table{Columns: []doc.Column{doc.Label("model", "model"), {Key: "about", Head: "of", Wrap: 24},
		{Key: "inputs", Head: "inputs", Wrap: 16},
		{Key: "source", Head: "source", Wrap: 24}, doc.Label("read", "read")}}
	for _, m := range all {
		t.Add(doc.Say(m.Name), doc.Say(m.About), doc.Say(strings.Join(m.InputNames(), ", ")), doc.Say(m.Source.Title),
			doc.Say(m.Source.Read))
	}
	d := &doc.Document{Title: "Models of expected service levels",
		Answer: fmt.Sprintf("The program comes with %s. A file of your own works the same way.",
			num.Count(len(all), "model"))}
	d.AddSection("models", "Models", "", doc.Everywhere, doc.Block{Table: t})
	return all, d
}
