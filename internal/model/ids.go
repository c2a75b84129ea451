package model

import (
	"fmt"
	"regexp"
	"strings"
)

// RunID names one run: a ULID, so that ids sort by time of creation.
type RunID string

// StepID names a step within all runs: "<run>/<number>".
type StepID string

// TaskID names a task within all runs: "<run>/<step number>/<position>".
type TaskID string

// NodeID names a node: its host name, an address, or what its owner chose.
type NodeID string

// NewStepID returns the id of the step with this number (from 0) in a run.
func NewStepID(run RunID, number int) StepID {
	return StepID(fmt.Sprintf("%s/%04d", run, number))
}

// NewTaskID returns the id of the task at this position (from 0) in a step.
func NewTaskID(step StepID, position int) TaskID {
	return TaskID(fmt.Sprintf("%s/%04d", step, position))
}

// Run returns the run that the task belongs to.
func (t TaskID) Run() RunID {
	run, _, _ := strings.Cut(string(t), "/")
	return RunID(run)
}

// nodeIDPattern keeps node ids usable as a file name and, after escaping the
// dot, as one token of a queue subject.
var nodeIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// Validate reports whether the id can name a node.
func (n NodeID) Validate() error {
	if !nodeIDPattern.MatchString(string(n)) {
		return fmt.Errorf("node id %q must have 1 to 128 letters, digits, or . _ : -, beginning with a letter or digit", string(n))
	}
	return nil
}

var runIDPattern = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`)

// Validate reports whether the id has the form of a ULID.
func (r RunID) Validate() error {
	if !runIDPattern.MatchString(string(r)) {
		return fmt.Errorf("run id %q must be a ULID (26 letters and digits); `scalebench runs` lists the runs", string(r))
	}
	return nil
}
