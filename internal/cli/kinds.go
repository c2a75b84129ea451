package cli

import (
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/study"
	studycapacity "github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/internal/study/cdi"
	"github.com/scalebench/scalebench/internal/study/compare"
	"github.com/scalebench/scalebench/internal/study/history"
	"github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/study/levelfit"
	"github.com/scalebench/scalebench/internal/study/ntier"
	"github.com/scalebench/scalebench/internal/study/pressure"
	"github.com/scalebench/scalebench/internal/study/resources"
	"github.com/scalebench/scalebench/internal/study/scaleout"
	"github.com/scalebench/scalebench/internal/study/servicelevel"
	"github.com/scalebench/scalebench/internal/study/sizing"
	"github.com/scalebench/scalebench/internal/study/variability"
	"github.com/scalebench/scalebench/internal/tiers"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/command"
	"github.com/scalebench/scalebench/internal/workload/contextswitch"
	"github.com/scalebench/scalebench/internal/workload/cpu"
	"github.com/scalebench/scalebench/internal/workload/disk"
	"github.com/scalebench/scalebench/internal/workload/jobs"
	"github.com/scalebench/scalebench/internal/workload/load"
	"github.com/scalebench/scalebench/internal/workload/memory"
	"github.com/scalebench/scalebench/internal/workload/network"
	"github.com/scalebench/scalebench/internal/workload/objectstore"
	tier "github.com/scalebench/scalebench/internal/workload/service"
	"github.com/scalebench/scalebench/internal/workload/spark"
	"github.com/scalebench/scalebench/internal/workload/sysbench"
	"github.com/scalebench/scalebench/internal/workload/unixbench"
	"github.com/scalebench/scalebench/internal/workload/users"
)

// Kinds are what an experiment file may name.
func Kinds() experiment.Kinds {
	return experiment.Kinds{Workloads: Workloads(), Studies: Studies()}
}

// kinds are those of this binary and of its environment.
func (e Env) kinds() experiment.Kinds {
	k := Kinds()
	for _, more := range e.More {
		k.Workloads[more.Name] = more
	}
	return k
}

// tasks are Tasks with those of the environment.
func (e Env) tasks() workload.Registry {
	all := Tasks()
	for _, more := range e.More {
		all[more.Name] = more
	}
	return all
}

// Studies returns the questions that this binary knows: one line each.
func Studies() study.Registry {
	return study.Registry{
		legacy.Adapt(studycapacity.Kind()),
		cdi.Kind(),
		resources.Kind(),
		legacy.Adapt(variability.Kind()),
		legacy.Adapt(sizing.Kind()),
		legacy.Adapt(compare.Kind()),
		legacy.Adapt(history.Kind()),
		legacy.Adapt(ntier.Kind()),
		pressure.Kind(),
		servicelevel.Kind(),
		levelfit.Kind(),
		scaleout.Kind(),
	}
}

// Tasks returns the kinds of tasks that an agent executes: the benchmarks, and
// what no file names.
func Tasks() workload.Registry {
	all := []workload.Kind{tier.Kind(watchTier)}
	for _, k := range Workloads() {
		all = append(all, k)
	}
	return workload.NewRegistry(all...)
}

// watchTier watches a service of a step.
func watchTier(w tier.Watched) tier.Watch { return tiers.New(w) }

// Workloads returns the benchmarks that this binary knows: one line each.
func Workloads() workload.Registry {
	return workload.NewRegistry(
		command.Kind(),
		contextswitch.Kind(),
		cpu.Kind(),
		memory.Kind(),
		disk.Kind(),
		jobs.Kind(),
		load.Kind(),
		network.Kind(),
		objectstore.Kind(),
		spark.Kind(),
		sysbench.Kind(),
		unixbench.Kind(),
		users.Kind(),
	)
}
