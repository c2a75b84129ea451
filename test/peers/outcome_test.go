package peers

import (
	"math"
	"slices"
	"time"
)

// connections is how many each generator may have, where it can be told so.
const connections = 64

// truthRate is the load under which packets are recorded.
const truthRate = 10_000

// job is what a generator is asked for.
type job struct {
	url    string
	rate   float64 // operations/s, evenly spaced; 0: as many as the connections can do
	window time.Duration
	// warmUp is cut before the window; only our own generator can.
	warmUp time.Duration
}

// warmUp is cut, as a search does, where it is told how late a generator is that
// has begun.
const warmUp = time.Second

// due is how many operations are to be sent; 0 where the server decides that.
func (j job) due() float64 { return j.rate * j.window.Seconds() }

// percentiles are those of an outcome.
var percentiles = [...]float64{50, 99, 99.9}

// outcome is what a generator says it did, and what that cost. What is not
// known is NaN.
type outcome struct {
	answered  float64                   // operations with a good answer
	took      time.Duration             // for them
	latencies [len(percentiles)]float64 // s
	lag       float64                   // s; 99.9 % were sent no later than this
	cpu       time.Duration             // of the whole process, from its start to its end
	memory    int64                     // bytes; the most that was resident
}

// unknown is an outcome before anything was told.
func unknown() outcome {
	o := outcome{answered: math.NaN(), lag: math.NaN()}
	for i := range o.latencies {
		o.latencies[i] = math.NaN()
	}
	return o
}

// rate is in good answers per second.
func (o outcome) rate() float64 { return o.answered / o.took.Seconds() }

// cpuEach is in seconds of processor time for each good answer.
func (o outcome) cpuEach() float64 { return o.cpu.Seconds() / o.answered }

// median leaves out what is not known; NaN where nothing is.
func median(x []float64) float64 {
	known := slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	if len(known) == 0 {
		return math.NaN()
	}
	slices.Sort(known)
	return (known[(len(known)-1)/2] + known[len(known)/2]) / 2
}
