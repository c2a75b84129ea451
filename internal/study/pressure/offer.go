package pressure

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/levels"
)

// offer is a service as its provider sells it: the inputs of its model, and the limits that they give.
type offer struct {
	limits []*Service // with a pressure
	model  *levels.Model
	now    map[string]string // the present inputs, with those that are default
	set    map[string]string // the chosen ones
	only   []string          // inputs that are counted for the node; nil: all
	host   map[string]string // words that are chosen for the host already; they take the place of those of now
}

// offers are the services, each once.
func (r *Result) offers() (out []*offer) {
	for _, s := range r.candidates() {
		k := slices.IndexFunc(out, func(o *offer) bool {
			l := o.limits[0]
			return l.Node == s.Node && l.Service == s.Service && l.Model == s.Model
		})
		if k < 0 {
			k = len(out)
			o := &offer{model: s.line.model, now: maps.Clone(s.line.set)}
			if s.Service == "" && o.model.Scope == levels.OfVolume {
				o.only = s.line.level.Inputs
			}
			for _, of := range o.provisions(o.now) {
				if of.Default {
					o.now[of.Name] = o.print(of.Name, of.Value)
				}
			}
			o.set = o.now
			out = append(out, o)
		}
		s.offer, out[k].limits = out[k], append(out[k].limits, s)
	}
	return out
}

// provisions are the amounts in a set of inputs; none: there is no such set.
func (o *offer) provisions(set map[string]string) []levels.Provision {
	out, err := o.model.Provisions(set)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(out, func(of levels.Provision) bool {
		return o.only != nil && !slices.Contains(o.only, of.Name)
	})
}

// print is an amount with its unit.
func (o *offer) print(input string, amount float64) string {
	return digits(amount) + o.model.Inputs[input].Unit
}

func digits(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// levels are the rates that a set of inputs gives, by the names of limits; none: there is no such set.
func (o *offer) levels(set map[string]string) map[string]float64 {
	out := make(map[string]float64)
	if of, err := o.model.Levels(set); err == nil {
		for _, level := range of.Limits {
			out[level.Name()] = level.Rate.Level()
		}
	}
	return out
}

// sets are the present inputs, with the words of the host, and those with each combination of other words.
func (o *offer) sets() []map[string]string {
	first := maps.Clone(o.now)
	maps.Copy(first, o.host)
	out := []map[string]string{first}
	for _, name := range o.model.InputNames() {
		for _, set := range slices.Clone(out) {
			for _, word := range o.model.Choices(name) {
				with := maps.Clone(set)
				if with[name] = word; word != set[name] {
					out = append(out, with)
				}
			}
		}
	}
	return out
}

// most is the largest level of a limit.
func (o *offer) most(limit string) float64 {
	out := o.levels(o.now)[limit]
	for _, set := range o.sets() {
		set = maps.Clone(set)
		for _, of := range o.provisions(set) {
			set[of.Name] = o.print(of.Name, max(of.Value, of.Most))
		}
		out = max(out, o.levels(set)[limit])
	}
	return out
}

// choice is a set of inputs.
type choice struct {
	set     map[string]string
	levels  map[string]float64 // by the names of limits
	monthly float64            // without the host; NaN: not known
	total   float64            // with it
	size    float64            // the sum of its levels, each as a multiple of the present one
}

// compare orders choices: the cheapest first; if prices are not known, the smallest.
func (c choice) compare(other choice) int {
	price := func(x float64) float64 {
		if math.IsNaN(x) {
			return math.Inf(1)
		}
		return x
	}
	return cmp.Or(cmp.Compare(price(c.total), price(other.total)), cmp.Compare(c.size, other.size))
}

// raise chooses the cheapest inputs whose levels are at least those needed, by the names of limits. No amount is below
// the present one. Words change only if the present ones are not enough: a type of instance gives more than its limits.
func (o *offer) raise(needed map[string]float64, p Prices) (best choice, ok bool) {
	for i, set := range o.sets() {
		if i == 1 && ok {
			break
		}
		c, enough := o.choose(set, needed, p, func(of levels.Provision) Input {
			return Input{Least: of.Value, Most: max(of.Value, of.Most)}
		})
		if enough && (!ok || c.compare(best) < 0) {
			best, ok = c, true
		}
	}
	return best, ok
}

// lower chooses the least amounts of these inputs whose levels are at least those needed.
func (o *offer) lower(inputs []string, needed map[string]float64) (choice, bool) {
	return o.choose(o.set, needed, Prices{}, func(of levels.Provision) Input {
		in := Input{Least: of.Value, Most: of.Value}
		if slices.Contains(inputs, of.Name) {
			in.Least = min(of.Least, of.Value)
		}
		return in
	})
}

// choose changes the amounts of a set within bounds.
func (o *offer) choose(set map[string]string, needed map[string]float64, p Prices,
	bounds func(levels.Provision) Input) (out choice, ok bool) {
	amounts := o.provisions(set)
	inputs := make([]Input, len(amounts))
	for i, of := range amounts {
		inputs[i] = bounds(of)
		inputs[i].Price = p.Inputs[Priced{o.model.Name, of.Name}]
	}
	with := func(values []float64) map[string]string {
		out := maps.Clone(set)
		for i, of := range amounts {
			v := values[i]
			if most := o.model.Most(of.Name, out); v > most*(1+same) { // with fewer GiB, fewer operations
				v = inputs[i].Least + math.Floor(most-inputs[i].Least+same)
			}
			if v != of.Value {
				out[of.Name] = o.print(of.Name, v)
			}
		}
		return out
	}
	values, _ := cheapest(inputs, func(values []float64) bool {
		rates := o.levels(with(values))
		for name, rate := range needed {
			if !(rates[name] >= rate*(1-same)) {
				return false
			}
		}
		return true
	})
	if values == nil {
		return out, false
	}
	out = choice{set: with(values), levels: o.levels(with(values))}
	now := o.levels(o.now)
	for name, rate := range out.levels {
		if now[name] > 0 {
			out.size += rate / now[name]
		}
	}
	monthly, host, _ := o.price(out.set, p)
	if out.monthly, out.total = monthly, monthly+p.Inputs[host].Unit; host != (Priced{}) && !p.lists(host) {
		out.total = math.NaN()
	}
	return out, true
}

// changes are the inputs of which the choice differs from the present ones.
func (o *offer) changes() map[string]string {
	out := maps.Clone(o.set)
	maps.DeleteFunc(out, func(name, value string) bool { return o.now[name] == value })
	return out
}

// settings are inputs for people; now are the present ones, of which only the others count.
func settings(to, now map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(to)) {
		text := key + "=" + to[key]
		if before := now[key]; before != "" {
			text += " (now " + before + ")"
		}
		if to[key] != now[key] {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}
