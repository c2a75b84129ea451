package experiment

import (
	"errors"
	"slices"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/schedule"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Experiment is a checked experiment file with its defaults filled in. Its
// tags are the source of the JSON Schema.
type Experiment struct {
	Name        string `json:"name,omitempty" jsonschema:"format=scalebench-line,minLength=1,maxLength=100" jsonschema_description:"Name of the experiment, at most 100 characters. Default: the file's name without its ending."`
	Description string `json:"description,omitempty" jsonschema:"maxLength=10000" jsonschema_description:"What the experiment is for, in your own words; the report shows it."`
	Fleet       Fleet  `json:"fleet" jsonschema:"required" jsonschema_description:"The nodes and where they come from: exactly one of local, lab and agents."`
	// Choose is what of the alternatives was taken; Services are without the others.
	Choose    map[string]string `json:"choose,omitempty" jsonschema_description:"Which alternatives of services are used, of those that have when: {data: replicated}. Another run chooses otherwise: --set choose.data=partitioned."`
	Services  []Service         `json:"services,omitempty" jsonschema:"maxItems=64" jsonschema_description:"What workloads reach: commands that run on nodes of the fleet (on), anew for every step; or, without on, on hosts of a lab of their own, for as long as the fleet is up. Workloads write ${service.NAME} for the address."`
	Workloads []Workload        `json:"workloads" jsonschema:"required,minItems=1,maxItems=1000" jsonschema_description:"What every node does. Each workload is measured, and its CDI computed, separately."`
	// Study is nil where the file names none: then Evaluations say it.
	Study *StudyEntry `json:"study,omitempty" jsonschema_description:"The question that the run answers, with its parameters: kind, and the keys of that kind. Default: the studies that evaluations need."`
	// Evaluations are phases that studies of the registry design.
	Evaluations []model.Phase `json:"evaluations" jsonschema:"minItems=1,uniqueItems=true" jsonschema_description:"serial: one node at a time. parallel: all nodes at once. The CDI compares both; with one of them alone the verdict is unknown. search: all nodes offer load to a target, more and more, to find how much it takes; only with workloads of kind load. Default: serial and parallel, or what the study measures."`
	// Schedule makes a campaign of the file: every repetition executes it once,
	// with all trials. Nil: it is executed once.
	Schedule *schedule.Spec `json:"schedule,omitempty" jsonschema_description:"When the whole experiment is repeated: a campaign, each repetition a run of its own. Default: it runs once."`
	// Every is 0 where trials follow each other at once.
	Every  unit.Duration `json:"every,omitempty" jsonschema_description:"Time from the start of one trial to that of the next, such as 15m. Default: one after the other."`
	Trials int           `json:"trials" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"How often everything is repeated."`
	// Seed is nil when the file has none; design.Build then derives it from the
	// run's id.
	Seed     *int64   `json:"seed,omitempty" jsonschema:"minimum=0,maximum=9007199254740991" jsonschema_description:"Seed for the first serial order and for the random numbers of searches, so that they are repeatable. Default: derived from the run's id; recorded with the run."`
	Shared   bool     `json:"shared" jsonschema_description:"true: other runs may measure on the same hosts at the same time, but not on the same nodes. Both runs must set it. false: the run waits until it has its hosts for itself."`
	Timeouts Timeouts `json:"timeouts" jsonschema_description:"Time limits."`
	Retries  Retries  `json:"retries" jsonschema_description:"How often a whole step is retried."`
	Output   Output   `json:"output" jsonschema_description:"How much of a workload's output is kept, for stdout and stderr each."`

	// SourceName is the name of the file; Source its text as executed: with
	// the overrides applied. Parsing Source gives the same experiment.
	SourceName string `json:"-"`
	Source     string `json:"-"`

	// Asked is the question of the file, as it is stored with its runs.
	Asked model.Asked `json:"-"`

	// Designers say what is measured, in their order: the study that the file
	// names, or those of its evaluations.
	Designers []Designer `json:"-"`

	file  *yamlFile // for positions; nil unless Parse made the experiment
	kinds Kinds     // what the file may name
}

// Place gives every error in err that is about a key its place in the file.
func (e *Experiment) Place(err error) error {
	all := model.Single(err)
	for i, one := range all {
		if key, ok := errors.AsType[*model.InputError](one); ok && key.File == "" && key.Path != "" {
			all[i] = e.Refusal(strings.Split(key.Path, "."), key.Problem, key.Allowed)
		}
	}
	said := make(map[string]bool) // steps and instances have the same problem of one key
	return errors.Join(slices.DeleteFunc(all, func(one error) bool {
		twice := said[one.Error()]
		said[one.Error()] = true
		return twice
	})...)
}

// Bounds are those of the schedule, which there must be, of a campaign that is
// made now. An error has its place in the file.
func (e *Experiment) Bounds(now time.Time) (begin, end time.Time, err error) {
	begin, end, err = e.Schedule.Bounds(now)
	if key, ok := errors.AsType[*model.InputError](err); ok {
		err = e.Refusal(append([]string{"schedule"}, fieldPath(key.Path)...), key.Problem, key.Allowed)
	}
	return begin, end, err
}

// Refusal is the error of a value that is possible in the file but not with
// what is around it, such as the nodes: at its position, or that of the
// innermost key around it that is in the file. The path has keys, and indices
// or names of entries.
func (e *Experiment) Refusal(path []string, problem, allowed string) error {
	probs := &problems{file: e.SourceName}
	at := pos{}
	if e.file != nil {
		root := (*value)(e.file.root)
		at, path = e.file.pos((*yaml.Node)(root.find(path))), root.show(path)
	}
	probs.add(at, path, problem, allowed)
	return &probs.list[0].InputError
}

// Fleet says where the nodes come from. Exactly one field is set.
type Fleet struct {
	Local *Local `json:"local,omitempty" jsonschema_description:"Nodes that are agent processes on this machine."`
	// Lab is valid: see lab.Spec.Validate.
	Lab    *lab.Spec `json:"lab,omitempty" jsonschema_description:"Hosts that scalebench makes on this machine, with the file's limits on links, processors, memory and volumes. Needs root."`
	Agents *Agents   `json:"agents,omitempty" jsonschema_description:"Machines that run scalebench agent."`
}

// Size is the number of nodes; 0 when it is only known when the run begins.
func (f Fleet) Size() int {
	switch {
	case f.Local != nil:
		return f.Local.Nodes
	case f.Lab != nil:
		return f.Lab.Size()
	case f.Agents != nil:
		return f.Agents.Count
	}
	return 0
}

// Local is a fleet of agent processes on this machine.
type Local struct {
	Nodes int `json:"nodes" jsonschema:"required,minimum=1,maximum=256" jsonschema_description:"How many agent processes to start."`
}

// Agents is a fleet of agents that the user started.
type Agents struct {
	Labels map[string]string `json:"labels,omitempty" jsonschema_description:"Labels that an agent must have. Without labels: every agent."`
	// Count 0 means all that match.
	Count int `json:"count,omitempty" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"How many of the matching agents to use. Default: all that are connected when the run begins."`
}

// Timeouts bounds how long things may take. All are greater than zero.
type Timeouts struct {
	Task  unit.Duration `json:"task" jsonschema_description:"Limit of a task from start to end; then its whole process group is killed."`
	Ready unit.Duration `json:"ready" jsonschema_description:"Limit of the time from sending a task until its node has prepared it; preparation is not measured."`
	Node  unit.Duration `json:"node" jsonschema_description:"How long to wait for nodes: for the fleet to be complete at the beginning, and for a lost node to come back."`
}

// Retries says how often a step is tried again as a whole, after a task in it
// failed (the workload's fault) or was lost (the node's).
type Retries struct {
	Failed int `json:"failed" jsonschema:"minimum=0,maximum=100" jsonschema_description:"Retries after the workload itself failed."`
	Lost   int `json:"lost" jsonschema:"minimum=0,maximum=100" jsonschema_description:"Retries after a node or its agent was lost during a task."`
}

// Output bounds what is kept of a task's stdout and of its stderr.
type Output struct {
	Limit    unit.Size `json:"limit" jsonschema_description:"Kept in the result, in full or as head and tail. 1KiB to 256KiB."`
	Artifact unit.Size `json:"artifact" jsonschema_description:"Kept in full as an artifact. 0B keeps nothing; at most 1GiB."`
}

// Workload is one entry of workloads: the keys every kind has, and the kind's
// own parameters beside them.
type Workload struct {
	Name string `json:"name,omitempty" jsonschema:"format=scalebench-name,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the workload in results, unique in the file. Default: its kind."`
	Kind string `json:"kind" jsonschema:"required" jsonschema_description:"Which benchmark to run."`
	// Timeout is the file's value, or that of Timeouts.Task.
	Timeout unit.Duration `json:"timeout,omitempty" jsonschema_description:"Time limit of a task of this workload. Default: timeouts.task."`

	// On are labels that a node must have to take part; none: every node does.
	On map[string]string `json:"on,omitempty" jsonschema_description:"Labels that a node must have to take part in this workload, such as group: rack1. Default: every node of the fleet."`

	// Params are the kind's own parameters as in the file: what model.Spec
	// carries to the node, once ${service.NAME} is replaced.
	Params map[string]any `json:"-"`
	// Bench is the benchmark with Params decoded over its defaults, valid. An
	// address that stands in for services, see standIn, is in the place of
	// ${service.NAME}.
	Bench workload.Workload `json:"-"`
}

// Estimate is the expected time of one task from start to end; zero when the
// workload cannot know it.
func (w Workload) Estimate() time.Duration {
	if w.Bench == nil {
		return 0
	}
	return w.Bench.Estimate()
}

// Has reports whether the experiment runs this evaluation.
func (e *Experiment) Has(p model.Phase) bool {
	return slices.Contains(e.Evaluations, p)
}

// defaults returns an experiment with what holds where the file says nothing.
// The schema takes its "default" values from here, too.
func defaults() Experiment {
	return Experiment{
		Evaluations: []model.Phase{model.Serial, model.Parallel},
		Trials:      1,
		Timeouts: Timeouts{
			Task:  unit.Duration(10 * time.Minute),
			Ready: unit.Duration(time.Minute),
			Node:  unit.Duration(2 * time.Minute),
		},
		Retries: Retries{Lost: 2},
		Output:  Output{Limit: 64 * unit.KiB, Artifact: 16 * unit.MiB},
	}
}
