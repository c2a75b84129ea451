package evaluation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// BenchmarkRun: findings and scalings of large fleets. The time must grow with
// the number of nodes, not with its square.
func BenchmarkRun(b *testing.B) {
	for _, nodes := range []int{1000, 4000} {
		data := noisyRun(rand.New(rand.NewPCG(1, 2)), nodes, 3, .05, .7, .02)
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for b.Loop() {
				run := observe.Of(data)
				if _, err := Findings(run, Options{}); err != nil {
					b.Fatal(err)
				}
				if _, err := Scalings(run, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTable: a table of a hundred thousand values; B/op is what they take.
func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t := &Table{Workload: "w", Metric: "m", Better: model.Higher}
		for trial := range 50 {
			for i := range 1000 {
				t.Add(string(nodeName(i)), model.Serial, 1+trial, 100+float64(i%13), i)
				t.Add(string(nodeName(i)), model.Parallel, 1+trial, 50+float64(i%7), i)
			}
		}
		t.Finding(quick)
	}
}
