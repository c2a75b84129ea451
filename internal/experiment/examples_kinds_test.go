package experiment_test

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// idle is a workload of which only the parameters matter.
type idle struct{}

func (idle) Validate() error                              { return nil }
func (idle) Estimate() time.Duration                      { return 0 }
func (idle) Prepare(context.Context, *workload.Env) error { return nil }
func (idle) Run(context.Context, *workload.Env) error     { return nil }

// exampleKinds has the kinds that the examples use, with their parameters.
func exampleKinds() workload.Registry {
	type cpu struct {
		idle
		Threads  int           `json:"threads"`
		Duration unit.Duration `json:"duration"`
	}
	type memory struct {
		idle
		Threads  int           `json:"threads"`
		Duration unit.Duration `json:"duration"`
		Size     unit.Size     `json:"size"`
		Tests    []string      `json:"tests" jsonschema:"enum=copy,enum=triad,enum=latency"`
	}
	type metric struct {
		Name   string       `json:"name" jsonschema:"required"`
		Unit   string       `json:"unit"`
		Better model.Better `json:"better"`
		JSON   string       `json:"json"`
		Regex  string       `json:"regex"`
		Number bool         `json:"number"`
	}
	type command struct {
		idle
		Command string   `json:"command" jsonschema:"required"`
		Metrics []metric `json:"metrics"`
	}
	type sysbench struct {
		idle
		Test     string        `json:"test" jsonschema:"enum=cpu,enum=memory"`
		Threads  int           `json:"threads"`
		Duration unit.Duration `json:"duration"`
	}
	type unixbench struct {
		idle
		Path  string   `json:"path" jsonschema:"required"`
		Tests []string `json:"tests"`
	}
	return workload.NewRegistry(
		workload.Kind{Name: "cpu", New: func() workload.Workload { return &cpu{} }},
		workload.Kind{Name: "memory", New: func() workload.Workload { return &memory{} }},
		workload.Kind{Name: "command", New: func() workload.Workload { return &command{} }},
		workload.Kind{Name: "sysbench", New: func() workload.Workload { return &sysbench{} }},
		workload.Kind{Name: "unixbench", New: func() workload.Workload { return &unixbench{} }},
	)
}
