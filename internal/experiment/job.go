package experiment

import (
	"path/filepath"
	"reflect"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
)

// JobFile is a job file in the format of the paper (ScaleBench, section 2.1,
// Fig. 2 and 3).
type JobFile struct {
	// Name is jobName or testName, whichever the file has; without either,
	// the file's name without its ending.
	Name string
	Jobs []Job
	// Timeout bounds each job. The format has no key for it; it is
	// DefaultJobTimeout unless the caller changes it.
	Timeout unit.Duration
	// Output bounds what is kept; defaults as for experiments.
	Output Output

	// SourceName is the name of the file; Source its text.
	SourceName string
	Source     string
}

// DefaultJobTimeout is long: in the paper it takes minutes to hours to run the
// jobs (section 2.2).
const DefaultJobTimeout = unit.Duration(24 * time.Hour)

// Job is one command for one node, or for all of them.
type Job struct {
	Node    string `json:"node,omitempty" jsonschema:"format=scalebench-node" jsonschema_description:"Node that runs the command; * or no node: every node."`
	Path    string `json:"path,omitempty" jsonschema:"maxLength=10000" jsonschema_description:"PATH of the command. Default: the agent's."`
	Command string `json:"command" jsonschema:"required,minLength=1,maxLength=100000" jsonschema_description:"Command for the shell."`

	// Line and Col are where the job's node, or else the job, stands in the
	// file.
	Line int `json:"-"`
	Col  int `json:"-"`
}

type jobFile struct {
	JobName  string `json:"jobName,omitempty" jsonschema:"format=scalebench-line,minLength=1,maxLength=100" jsonschema_description:"Name of the batch."`
	TestName string `json:"testName,omitempty" jsonschema:"format=scalebench-line,minLength=1,maxLength=100" jsonschema_description:"The same as jobName."`
	Jobs     []Job  `json:"jobs" jsonschema:"required,minItems=1,maxItems=10000" jsonschema_description:"Jobs; each node runs its jobs in this order."`
}

// JobSchema returns the JSON Schema of the paper's job files.
func JobSchema() ([]byte, error) {
	root := reflectSchema(jobFile{})
	root.Title = "scalebench job file"
	root.Description = "The paper's job file: commands for nodes, in order."
	return printed(root)
}

// ParseJob reads a job file. The error is a model.InputErrors with everything that
// is wrong.
func ParseJob(name string, src []byte) (*JobFile, error) {
	probs := &problems{file: name}
	file := readJSON(src, probs)
	if file == nil {
		return nil, probs.err()
	}
	d := newDecoder(file)
	var f jobFile
	d.decode(d.root, nil, reflect.ValueOf(&f).Elem(), shapeOf(reflect.TypeFor[jobFile](), ""))
	if a, b := d.root.key("jobName"), d.root.key("testName"); a != nil && b != nil {
		d.reportAt(d.place(b), []string{"testName"}, "the batch has a jobName, too", "use one of jobName and testName")
	}
	if err := probs.err(); err != nil {
		return nil, err
	}
	return d.jobFile(name, src, f), nil
}

// jobFile is what a tree without problems says.
func (d *decoder) jobFile(name string, src []byte, f jobFile) *JobFile {
	out := &JobFile{Name: f.JobName + f.TestName, Jobs: f.Jobs, Timeout: DefaultJobTimeout, Output: defaults().Output,
		SourceName: filepath.Base(name), Source: string(src)}
	if out.Name == "" {
		out.Name = defaultName(name)
	}
	for i, item := range d.root.get("jobs").items() {
		j := &out.Jobs[i]
		j.Line, j.Col = item.Line, item.Column
		if n := item.get("node"); n != nil {
			j.Line, j.Col = n.Line, n.Column
		}
		if j.Node == "" { // node-generic jobs have no node id (section 2.1)
			j.Node = AllNodes
		}
	}
	return out
}
