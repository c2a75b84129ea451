package sizing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// amount is what a person says of a resource: "network.receive=25MB/s".
type amount struct {
	resource string
	value    float64 // above zero
	unit     string  // normal; empty: a bare number
}

// given is an amount as a parameter has it.
type given struct {
	key, text string // the parameter's key in the file
}

// given lists all of them.
func (p *Params) given() []given {
	var out []given
	for _, of := range []struct {
		key   string
		texts []string
	}{{"demand", p.Demand}, {keyPerJob, p.DemandPerJob}, {"capacity", p.Capacity}} {
		for _, text := range of.texts {
			out = append(out, given{of.key, text})
		}
	}
	return out
}

// keyPerJob is the key of amounts per job; those of the others are per second.
const keyPerJob = "demand_per_job"

// What amounts look like, in words.
const (
	amountAllowed = `use RESOURCE=AMOUNT with a unit, such as network.receive=25MB/s, disk.write=300op/s, cpu=2core or WORKLOAD/METRIC=12events/s`
	jobAllowed    = `use RESOURCE=AMOUNT with a unit, such as objectstore.get=5.3MB, disk.write=40op or cpu=0.5s (of one core)`
)

// amount reads an amount with its unit. One per job is returned per second, for
// one job per second: times the rate it is what a node takes. The error is a
// [*model.InputError] that says what is allowed.
func (g given) amount() (amount, error) {
	allowed := amountAllowed
	if g.key == keyPerJob {
		allowed = jobAllowed
	}
	resource, value, name, problem := evaluation.SplitAmount(g.text)
	if problem != "" {
		return amount{}, wrong(g.key, strconv.Quote(g.text)+": "+problem, allowed)
	}
	perSecond := strings.HasSuffix(name, "/s")
	switch flows, _ := evaluation.NormalUnit(name + "/s"); {
	case g.key != keyPerJob && !perSecond && (flows == evaluation.ByteRate || flows == "op/s"):
		return amount{}, wrong(g.key, fmt.Sprintf("%q is not an amount per second", g.text), allowed)
	case g.key == keyPerJob && perSecond:
		return amount{}, wrong(g.key, fmt.Sprintf("%q is an amount per second, not per job", g.text), allowed)
	case g.key == keyPerJob && name == "s":
		name = evaluation.Core // processor time per job, at one job per second
	case g.key == keyPerJob:
		name += "/s"
	}
	// K and M, KB and MB/S mean different things to different people and are
	// refused, as everywhere.
	if flow, ok := strings.CutSuffix(name, "/s"); ok && ambiguous(flow) {
		_, err := unit.ParseRate(strconv.FormatFloat(value, 'f', -1, 64) + name)
		return amount{}, wrong(g.key, fmt.Sprintf("%q: %v", g.text, err), "")
	}
	normal, factor := evaluation.NormalUnit(name)
	if !evaluation.IsCapacity(value * factor) {
		return amount{}, wrong(g.key, fmt.Sprintf("%q is not an amount above 0", g.text), allowed)
	}
	return amount{resource, value * factor, normal}, nil
}

// ambiguous reports a unit that looks like one of bytes, bits or operations
// but is not.
func ambiguous(name string) bool {
	if _, err := unit.ParseRate("1" + name + "/s"); err == nil {
		return false
	}
	switch strings.ToLower(strings.TrimLeft(strings.ToLower(name), "kmgtpi")) {
	case "", "b", "bit", "bits", "bps", "op", "ops":
		return true
	}
	return false
}

// bare reads "RESOURCE=NUMBER", as a table needs which has no units; ok is
// false for every other text.
func (g given) bare() (a amount, ok bool) {
	resource, number, _ := strings.Cut(g.text, "=")
	number = strings.TrimSpace(number)
	v, err := strconv.ParseFloat(number, 64)
	a = amount{resource: strings.TrimSpace(resource), value: v}
	return a, err == nil && strings.Trim(number, "0123456789.") == "" && evaluation.IsCapacity(v) && a.resource != ""
}

// taxonomy lists the resources that have names of their own.
var taxonomy = []string{
	model.ResourceCPU, model.ResourceMemory, model.ResourceDiskRead, model.ResourceDiskWrite,
	model.ResourceNetworkReceive, model.ResourceNetworkSend, model.ResourceObjectPut, model.ResourceObjectGet,
}

// of reads the amount beside what was measured: a bare number is one only where
// its resource has no unit, and a name must mean something: one of the taxonomy,
// WORKLOAD/METRIC, or something that was measured.
func (g given) of(measured []capacity) (amount, error) {
	if bare, ok := g.bare(); ok && slices.ContainsFunc(measured, func(c capacity) bool { return c.is(bare.resource) && c.unit == "" }) {
		return bare, nil
	}
	a, err := g.amount()
	if err != nil {
		return amount{}, err
	}
	name := a.resource
	if strings.Contains(name, "/") || slices.Contains(taxonomy, name) || slices.ContainsFunc(measured, func(c capacity) bool { return c.is(name) }) {
		return a, nil
	}
	names := slices.Clone(taxonomy)
	for _, c := range measured {
		if c.resource == "" && c.workload != "" && !slices.Contains(names, c.workload) {
			names = append(names, c.workload)
		}
	}
	allowed := fmt.Sprintf("known are %s, and WORKLOAD/METRIC", strings.Join(names, ", "))
	if s := num.Suggest(name, names); s != "" {
		allowed = fmt.Sprintf("did you mean %q? %s", s, allowed)
	}
	return amount{}, wrong(g.key, fmt.Sprintf("unknown resource %q", name), allowed)
}
