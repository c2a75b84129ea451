package design

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// BuildBatch lays out a job file of the paper on these nodes: one step without a
// barrier, in which each node executes its jobs in the order of the file
// (ScaleBench, section 2.1). It fails with model.ErrUsage when the nodes cannot
// make a fleet, and when a job names a node that is not among them; the error
// names every such job, and the nodes that there are.
func BuildBatch(job *experiment.JobFile, run model.RunID, nodes []model.NodeID) (Design, error) {
	nodes, err := checkNodes(nodes)
	if err != nil {
		return Design{}, err
	}
	step := newStep(run, 0, model.Batch, job.Name, 1)
	var unknown []error
	for i, j := range job.Jobs {
		targets := nodes
		if j.Node != experiment.AllNodes {
			targets = []model.NodeID{model.NodeID(j.Node)}
		}
		if !slices.Contains(nodes, targets[0]) {
			unknown = append(unknown, noSuchNode(job, i, nodes))
			continue
		}
		for _, n := range targets {
			step.Tasks = append(step.Tasks, newTask(step.ID, len(step.Tasks), n, jobSpec(job, j)))
		}
	}
	if len(unknown) > 0 {
		return Design{}, errors.Join(unknown...)
	}
	steps := []model.Step{step}
	if len(step.Tasks) > maxTasks {
		return Design{}, refused("the jobs make %d tasks, and the limit is %d", len(step.Tasks), maxTasks)
	}
	return Design{
		Run: run, Name: job.Name, Kind: model.KindBatch, Nodes: nodes,
		Steps: steps, Estimate: estimate(steps, nil),
	}, nil
}

// jobSpec is a job as a task of kind "command". Its path becomes the PATH of
// the command.
func jobSpec(job *experiment.JobFile, j experiment.Job) model.Spec {
	params := map[string]any{"command": j.Command}
	if j.Path != "" {
		params["path"] = j.Path
	}
	return model.Spec{
		Workload: job.Name, Kind: "command", Params: params, Timeout: job.Timeout.Std(),
		OutputLimit: job.Output.Limit.Bytes(), ArtifactLimit: job.Output.Artifact.Bytes(),
	}
}

func noSuchNode(job *experiment.JobFile, i int, nodes []model.NodeID) error {
	return &model.InputError{
		File: job.SourceName, Line: job.Jobs[i].Line, Col: job.Jobs[i].Col,
		Path:    fmt.Sprintf("jobs.%d.node", i),
		Problem: fmt.Sprintf("unknown node %q", job.Jobs[i].Node),
		Allowed: fmt.Sprintf("the nodes are %s, and %q means all of them", listed(nodes, 20), experiment.AllNodes),
	}
}

// listed joins names, the first of them if there are more than most.
func listed[T ~string](names []T, most int) string {
	shown := make([]string, 0, most+1)
	for i, n := range names {
		if i == most {
			shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		shown = append(shown, string(n))
	}
	return strings.Join(shown, ", ")
}
