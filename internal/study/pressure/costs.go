package pressure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// Growth is what serving a multiple of the present load costs, by raising services and
// by adding nodes.
type Growth struct {
	Asked    float64 `json:"asked"` // times the present load
	Currency string  `json:"currency,omitempty"`
	// Raise keeps all pressures at or below the critical one; null: no inputs of the models reach it.
	Raise *Option `json:"raise"`
	// Nodes are the most whose throughput stays below what was asked: those of the paper. EnoughNodes serve all of it.
	Nodes       *Option    `json:"nodes"`
	EnoughNodes *Option    `json:"enough_nodes"`
	Services    []Provided `json:"services"` // what to choose
}

// Provided are the inputs of a service.
type Provided struct {
	Node    string            `json:"node"`
	Service string            `json:"service"`
	Model   string            `json:"model"`
	Now     map[string]string `json:"now"`
	To      map[string]string `json:"to"`      // all inputs; null: none give the levels
	Monthly *float64          `json:"monthly"` // of To, without the host; null: not known

	host map[string]string // what To has in common with the host, which has a line of its own
}

// price answers what growth costs, where that is asked.
func (p *Params) price(r *Result) error {
	if p.Growth == 0 {
		return nil
	}
	prices, err := ReadPrices(p.Prices)
	if err != nil {
		return err
	}
	g := &Growth{Asked: p.Growth, Currency: prices.Currency}
	offers := r.offers()
	now, then, reached := newBill(prices), newBill(prices), true
	for i, o := range offers {
		o.host = hostWords(offers[:i], o)
		x := Provided{Node: o.limits[0].Node, Service: o.limits[0].Service, Model: o.model.Name, Now: o.now, host: o.host}
		now.add(o, o.now)
		if c, ok := o.raise(r.needed(p.Growth, o), prices); ok {
			o.set, x.To, x.Monthly = c.set, c.set, num.IfFinite(c.monthly)
			then.add(o, c.set)
		}
		reached = reached && x.To != nil
		g.Services = append(g.Services, x)
	}
	monthly, err := now.total(r.nodes)
	if err != nil {
		return err
	}
	served := Range{p.Requests, p.Requests, p.Requests}
	if reached {
		raised, err := then.total(r.nodes)
		if err != nil {
			return err
		}
		g.Raise = NewOption(r.nodes, Range{p.Growth, p.Growth, p.Growth}, raised, served)
	}
	scaled := func(nodes int) *Option {
		by := float64(nodes) / float64(r.nodes)
		return NewOption(nodes, Range{by, by, by}, by*monthly, served)
	}
	below, enough := ScaleOut(r.nodes, p.Growth)
	g.Nodes, g.EnoughNodes, r.Growth = scaled(below), scaled(enough), g
	if lacking := append(now.lacking, then.lacking...); p.Prices != "" && len(lacking) > 0 {
		slices.Sort(lacking)
		r.Doubts.Add(noPrice.Warn(pricesArgs{slices.Compact(lacking)}))
	}
	return nil
}

// needed are the levels of a service at which a growth leaves all its pressures at or below the critical one.
func (r *Result) needed(growth float64, o *offer) map[string]float64 {
	out := o.levels(o.now)
	for _, u := range r.used {
		if to := u.needed(growth / (r.Critical / 100)); to > u.Rate && u.of.offer == o {
			out[u.Quality] = max(out[u.Quality], to)
		}
	}
	return out
}

// hostWords are what limits of a whole node, which come first, choose for it: its volumes get the same.
func hostWords(before []*offer, of *offer) map[string]string {
	out := make(map[string]string)
	for _, o := range before {
		if o.model.Name != of.model.Name || o.limits[0].Node != of.limits[0].Node || o.limits[0].Service != "" {
			continue
		}
		for name, word := range o.set {
			if o.model.Choices(name) != nil && o.ofHost(name) {
				out[name] = word
			}
		}
	}
	return out
}

// growthBlocks are the tables of what a growth costs.
func (r *Result) growthBlocks() []doc.Block {
	g := r.Growth
	if g == nil {
		return nil
	}
	options := &doc.Table{Columns: []doc.Column{doc.Label("option", "option"), doc.Number("nodes", "nodes"),
		doc.Label("throughput", "throughput"), doc.Number("monthly", "a month"),
		doc.Number("per_rate", "a month for 1 request/s"),
	}}
	price := func(x *float64) doc.Cell {
		if x == nil {
			return doc.Of(nil, "not known")
		}
		return doc.Of(*x, num.Digits(*x, 4)+" "+g.Currency)
	}
	add := func(name string, o *Option) {
		if o == nil {
			options.Add(doc.Say(name), doc.Of(nil, "–"), doc.Of(nil, "no inputs of the models reach it"), doc.Of(nil),
				doc.Of(nil))
			return
		}
		var each *float64
		if o.PerRate != nil {
			each = &o.PerRate.Value
		}
		options.Add(doc.Say(name), doc.Int(o.Nodes), doc.Of(o.Throughput.Value, num.Digits(o.Throughput.Value, 3)+" times"),
			price(o.Monthly), price(each))
	}
	add("raise services", g.Raise)
	add("add nodes, enough for "+g.asked(), g.EnoughNodes)
	if g.Nodes.Nodes > r.nodes {
		add("add nodes, just below "+g.asked(), g.Nodes)
	}
	inputs := &doc.Table{Columns: []doc.Column{doc.Label("node", "node"), doc.Label("service", "service"),
		doc.Label("model", "model"), doc.Label("to", "choose for "+num.Percent(r.Critical))}}
	for _, s := range g.Services {
		to := "another service: no inputs of its model give these levels"
		if s.To != nil {
			own := maps.Clone(s.To)
			maps.DeleteFunc(own, func(name, _ string) bool { return s.host[name] != "" })
			to = cmp.Or(settings(own, s.Now), "as it is")
		}
		inputs.Add(doc.Say(s.Node), doc.Say(LimitOf{Service: s.Service}.service()), doc.Say(s.Model), doc.Say(to))
	}
	text := fmt.Sprintf("Raises keep all limits at or below %s, at %s the present load. "+
		"The advice above has another rule: there a limit is at 100 %%. "+
		"More nodes are taken to grow linearly, each with its present pressures. "+
		"Prices are of all nodes and services, not of the addition alone.", num.Percent(r.Critical), g.asked())
	if g.Nodes.Nodes > r.nodes {
		text += " Just below serves less than was asked: the paper compares raises with it."
	}
	return []doc.Block{{Table: options}, {Table: inputs}, doc.Remark(text)}
}

// asked is the growth for people.
func (g *Growth) asked() string { return num.Digits(g.Asked, 3) + " times" }
