package cli

import (
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/command"
	"github.com/scalebench/scalebench/internal/workload/cpu"
	"github.com/scalebench/scalebench/internal/workload/disk"
	"github.com/scalebench/scalebench/internal/workload/load"
	"github.com/scalebench/scalebench/internal/workload/memory"
	"github.com/scalebench/scalebench/internal/workload/network"
	"github.com/scalebench/scalebench/internal/workload/objectstore"
	"github.com/scalebench/scalebench/internal/workload/sysbench"
	"github.com/scalebench/scalebench/internal/workload/unixbench"
)

// Workloads returns the benchmarks that this binary knows: one line each.
func Workloads() workload.Registry {
	return workload.NewRegistry(
		command.Kind(),
		cpu.Kind(),
		memory.Kind(),
		disk.Kind(),
		load.Kind(),
		network.Kind(),
		objectstore.Kind(),
		sysbench.Kind(),
		unixbench.Kind(),
	)
}
