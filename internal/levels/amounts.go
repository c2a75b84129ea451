package levels

import "math"

// Takes reports whether the model has this input.
func (m *Model) Takes(input string) bool {
	_, ok := m.Inputs[input]
	return ok
}

// Provision is an input that is a number, in its own unit: what is rented, and the least
// and the most that can be. Default: it was not set.
type Provision struct {
	Name    string
	Value   float64
	Least   float64
	Most    float64
	Default bool
}

// mostTimes is how many times the present amount is tried where the model has no maximum.
const mostTimes = 1000

// Provisions are the inputs that are numbers. The most of each is that with the most of
// all others: a larger volume may have more operations.
func (m *Model) Provisions(set map[string]string) (out []Provision, err error) {
	in, err := m.resolve(set)
	if err != nil {
		return nil, err
	}
	most := inputs{numbers: map[string]float64{}, words: in.words}
	for _, name := range m.InputNames() {
		x, number := in.numbers[name]
		if !number {
			continue
		}
		of := m.Inputs[name]
		lo, hi := of.low(in), of.high(most)
		unit := 1.0
		if of.Unit != "" {
			unit = of.factor()
		}
		if math.IsInf(lo, 1) || !(lo > 0) {
			lo = min(x, unit)
		}
		if math.IsInf(hi, 1) {
			hi = mostTimes * x
		}
		most.numbers[name] = hi
		_, given := set[name]
		out = append(out, Provision{Name: name, Value: x / unit, Least: lo / unit, Most: hi / unit, Default: !given})
	}
	return out, nil
}

// Most is the most of an input that is a number, in its own unit, by the inputs of a set that come before it.
// +Inf: there is no maximum.
func (m *Model) Most(input string, set map[string]string) float64 {
	in := inputs{map[string]float64{}, map[string]string{}}
	for _, name := range m.InputNames() {
		if name == input {
			break
		}
		m.take(in, name, m.text(name, set))
	}
	of := m.Inputs[input]
	return of.high(in) / of.factor()
}
