package pressure

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
)

// Growth is what serving a multiple of the present load costs, by raising services and
// by adding nodes.
type Growth struct {
	Growth   float64    `json:"growth"`
	Currency string     `json:"currency,omitempty"`
	Raise    *Option    `json:"raise"` // null: no inputs of the models reach it
	Nodes    *Option    `json:"nodes"`
	Services []Provided `json:"services"` // what to choose
}

// Provided are the inputs of a service.
type Provided struct {
	Node    string            `json:"node"`
	Service string            `json:"service"`
	Model   string            `json:"model"`
	Now     map[string]string `json:"now"`
	To      map[string]string `json:"to"`      // null: no inputs of the model give the levels
	Monthly *float64          `json:"monthly"` // of To; null: not known

	inputs []string // that are numbers, and so have prices
}

// nodeInput is the item of a price list that is one more node.
const nodeInput = "node"

// price answers what growth costs, where that is asked.
func (p *Params) price(r *Result, a Advice) error {
	if p.Growth == 0 {
		return nil
	}
	var prices Prices
	if p.Prices != "" {
		var err error
		if prices, err = ReadPrices("prices", strings.NewReader(p.Prices)); err != nil {
			return err
		}
	}
	g := &Growth{Growth: p.Growth, Currency: prices.Currency}
	raises := a.Raises(p.Growth, r.Critical/100)
	needed := func(s *Service) float64 {
		for _, c := range raises {
			if u := a.Uses[c.Use]; u.Node == s.Node && u.Service == s.Service && u.Limit == s.Quality {
				return max(s.Limit, c.Rate)
			}
		}
		return s.Limit
	}
	now, then, reached := 0.0, 0.0, true
	for _, group := range r.provided() {
		x, to, monthly, err := p.provide(group, needed, prices)
		if err != nil {
			return err
		}
		reached = reached && x.To != nil
		now, then = now+monthly, then+to
		g.Services = append(g.Services, x)
	}
	node, err := prices.node()
	if err != nil {
		return err
	}
	if p.Prices != "" {
		r.lacking(prices, g.Services, node)
	}
	throughput := Range{p.Requests, p.Requests, p.Requests}
	if reached {
		o := NewOption(r.nodes, Range{p.Growth, p.Growth, p.Growth}, then+float64(r.nodes)*node, throughput)
		g.Raise = &o
	}
	k, by := ScaleOut(r.nodes, p.Growth)
	if k == r.nodes { // the paper's number is no growth
		k++
		g := float64(k) / float64(r.nodes)
		by = Range{g, g, g}
	}
	o := NewOption(k, by, float64(k)*(node+now/float64(r.nodes)), throughput)
	g.Nodes = &o
	r.Growth = g
	return nil
}

// node is the price of one more node, of which there must be at most one; NaN: none.
func (p Prices) node() (float64, error) {
	out := math.NaN()
	for at, x := range p.Inputs {
		if at.Input != nodeInput {
			continue
		}
		if !math.IsNaN(out) {
			return out, &model.InputError{Path: "prices", Problem: "there are several prices of a node",
				Allowed: "keep that of these nodes"}
		}
		out = x.Unit
	}
	return out, nil
}

// lacking says which inputs have no price.
func (r *Result) lacking(prices Prices, services []Provided, node float64) {
	var names []caveat.Verbatim
	if math.IsNaN(node) {
		names = append(names, nodeInput)
	}
	for _, s := range services {
		for _, input := range s.inputs {
			if _, ok := prices.Inputs[Priced{s.Model, input}]; !ok {
				names = append(names, caveat.Verbatim(s.Model+" "+input))
			}
		}
	}
	if slices.Sort(names); len(names) > 0 {
		r.Doubts.Add(noPrice.Warn(pricesArgs{slices.Compact(names)}))
	}
}

// provided are the limits of each service by its model.
func (r *Result) provided() [][]*Service {
	var out [][]*Service
	for _, s := range r.Services {
		if n := len(out); n > 0 && out[n-1][0].Node == s.Node && out[n-1][0].Service == s.Service &&
			out[n-1][0].Model == s.Model {
			out[n-1] = append(out[n-1], s)
			continue
		}
		out = append(out, []*Service{s})
	}
	return out
}

// provide chooses the cheapest inputs whose levels are high enough. then is their price,
// and now that of the present ones; NaN: not known.
func (p *Params) provide(limits []*Service, need func(*Service) float64, prices Prices) (out Provided, then,
	now float64, err error) {
	s := limits[0]
	m := s.line.model
	set := p.inputs(s.line.source, s.Node, s.Service, m, newUsed(p))
	out = Provided{Node: s.Node, Service: s.Service, Model: s.Model, Now: set}
	needed := make([]float64, len(limits))
	for i, l := range limits {
		needed[i] = need(l)
	}
	provisions, err := m.Provisions(set)
	if err != nil {
		return out, 0, 0, err
	}
	var b Budget
	var names []string
	unknown := 0.0
	for _, of := range provisions {
		price, ok := prices.Inputs[Priced{s.Model, of.Name}]
		if !ok {
			unknown = math.NaN()
		}
		now += price.Monthly(of.Value)
		b.Inputs = append(b.Inputs, Input{Name: of.Name, Least: of.Value, Most: max(of.Value, of.Most), Price: price})
		names = append(names, of.Name)
		out.inputs = names
	}
	b.Levels = func(values []float64) ([]float64, error) {
		of, err := m.Levels(changed(set, names, texts(values)))
		if err != nil {
			return nil, err
		}
		rates := make([]float64, len(limits))
		for i, l := range limits {
			if k := slices.IndexFunc(of.Limits, func(x levels.Level) bool { return x.Name() == l.Quality }); k >= 0 {
				rates[i] = of.Limits[k].Rate.Level()
			}
		}
		return rates, nil
	}
	values, monthly, err := b.Cheapest(needed)
	switch {
	case errors.Is(err, ErrNotOffered):
		return out, math.NaN(), now + unknown, nil
	case err != nil:
		return out, 0, 0, fmt.Errorf("choosing the inputs of %s: %w", s.Service, err)
	}
	then = monthly + unknown
	out.To, out.Monthly = changed(set, names, texts(values)), num.IfFinite(then)
	return out, then, now + unknown, nil
}

// changed are inputs of which some have other values.
func changed(set map[string]string, names, values []string) map[string]string {
	out := maps.Clone(set)
	for i, name := range names {
		out[name] = values[i]
	}
	return out
}

func texts(values []float64) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = digits(v)
	}
	return out
}

func digits(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// growthBlocks are the tables of what a growth costs.
func (r *Result) growthBlocks() []doc.Block {
	g := r.Growth
	if g == nil {
		return nil
	}
	options := &doc.Table{Columns: []doc.Column{
		{Key: "option", Head: "option"}, {Key: "nodes", Head: "nodes", Right: true}, {Key: "growth", Head: "throughput",
			Right: true},
		{Key: "monthly", Head: "a month", Right: true}, {Key: "per_rate", Head: "a month for 1 request/s", Right: true},
	}}
	add := func(name string, o *Option) {
		if o == nil {
			options.Add(doc.Say(name), doc.Of(nil, "–"), doc.Of(nil, "no inputs of the models reach it"), doc.Of(nil),
				doc.Of(nil))
			return
		}
		price := func(x *float64) doc.Cell {
			if x == nil {
				return doc.Of(nil, "not known")
			}
			return doc.Of(*x, num.Digits(*x, 4)+" "+g.Currency)
		}
		var each *float64
		if o.PerRate != nil {
			each = &o.PerRate.Value
		}
		options.Add(doc.Say(name), doc.Int(o.Nodes), doc.Of(o.Growth.Value, "× "+num.Digits(o.Growth.Value, 3)),
			price(o.Monthly), price(each))
	}
	add("raise services", g.Raise)
	add("add nodes", g.Nodes)
	inputs := &doc.Table{Columns: []doc.Column{
		{Key: "node", Head: "node"}, {Key: "service", Head: "service"}, {Key: "model", Head: "model"}, {Key: "now",
			Head: "now"}, {Key: "to", Head: "choose"},
	}}
	for _, s := range g.Services {
		to := "another service: none of its inputs gives these levels"
		if s.To != nil {
			to = settings(s.To)
		}
		inputs.Add(doc.Say(s.Node), doc.Say(s.Service), doc.Say(s.Model), doc.Say(settings(s.Now)), doc.Say(to))
	}
	return []doc.Block{{Table: options}, {Table: inputs},
		doc.Remark("More nodes are taken to grow linearly. The number is the largest whose throughput stays below the " +
			"growth, or one more than now.")}
}

// settings are inputs for people.
func settings(set map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		out = append(out, key+"="+set[key])
	}
	return strings.Join(out, ", ")
}
