package pressure

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
)

// nodeInput is the item of a price list that is one host.
const nodeInput = "node"

// price is what a set of inputs costs a month, without the host; NaN: the list lacks prices. host is the item of the
// list that is the host, where an input says its type.
func (o *offer) price(set map[string]string, p Prices) (monthly float64, host Priced, lacking []caveat.Verbatim) {
	add := func(input string, amount float64) {
		item := Priced{o.model.Name, input}
		if monthly += p.Inputs[item].Monthly(amount); !p.lists(item) {
			monthly, lacking = math.NaN(), append(lacking, caveat.Verbatim(item.Model+" "+input))
		}
	}
	for _, of := range o.provisions(set) {
		add(of.Name, of.Value)
	}
	for _, name := range o.model.InputNames() {
		switch word := set[name]; {
		case o.model.Choices(name) == nil || word == "":
		case o.ofHost(name):
			host = Priced{word, nodeInput}
		default:
			add(name+"="+word, 1)
		}
	}
	return monthly, host, lacking
}

// ofHost reports whether an input is about the host: a limit of all its volumes depends on it, or one of its network or
// processors.
func (o *offer) ofHost(input string) bool {
	return o.model.Service != levels.Volume || o.model.Scope == levels.OfNode ||
		slices.ContainsFunc(o.model.Limits, func(l levels.Limit) bool {
			return l.Rate.By == input && l.Scope == levels.OfNode
		})
}

// bill adds up what services and their hosts cost a month.
type bill struct {
	prices   Prices
	services float64
	hosts    map[string]Priced // by node
	lacking  []caveat.Verbatim // prices
}

func newBill(p Prices) *bill { return &bill{prices: p, hosts: make(map[string]Priced)} }

// add adds a service with these inputs. If services of one host need different types of it, no price is known.
func (b *bill) add(o *offer, set map[string]string) {
	monthly, host, lacking := o.price(set, b.prices)
	b.services, b.lacking = b.services+monthly, append(b.lacking, lacking...)
	if host == (Priced{}) {
		return
	}
	_, now, _ := o.price(o.now, b.prices)
	if !b.prices.lists(host) {
		if host == now && !slices.ContainsFunc(o.types(), b.prices.lists) {
			return // the node of the list has no type
		}
		b.services, b.lacking = math.NaN(), append(b.lacking, caveat.Verbatim(host.Model+" "+nodeInput))
	}
	node := o.limits[0].Node
	if before, several := b.hosts[node]; several && before != host {
		b.services = math.NaN()
	}
	b.hosts[node] = host
}

// types are the items of price lists that are hosts of the types that the inputs may be.
func (o *offer) types() (out []Priced) {
	for _, name := range o.model.InputNames() {
		for _, word := range o.model.Choices(name) {
			if o.ofHost(name) {
				out = append(out, Priced{word, nodeInput})
			}
		}
	}
	return out
}

func (p Prices) lists(x Priced) bool {
	_, ok := p.Inputs[x]
	return ok
}

// total is the price with that of the hosts. Hosts whose type no input says cost what the only node of the list does.
func (b *bill) total(nodes int) (float64, error) {
	var only []Price
	for at, price := range b.prices.Inputs {
		if at.Input == nodeInput {
			only = append(only, price)
		}
	}
	sum := b.services
	for _, host := range b.hosts { // of a type
		sum += b.prices.Inputs[host].Unit
	}
	switch rest := nodes - len(b.hosts); {
	case rest == 0:
	case len(only) > 1:
		return 0, &model.InputError{Path: "prices", Problem: "there are several prices of a node",
			Allowed: "keep that of these nodes, or give their type to a model"}
	case len(only) == 0:
		sum, b.lacking = math.NaN(), append(b.lacking, nodeInput)
	default:
		sum += float64(rest) * only[0].Unit
	}
	return sum, nil
}
