package experiment_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// examples returns the text of the files in examples/ with this ending.
func examples(t *testing.T, ending string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../examples/*" + ending)
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples %s: %v", ending, err)
	}
	texts := map[string][]byte{}
	for _, name := range names {
		if texts[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// Every example parses, with the kinds of workload that the program has.
func TestExamples(t *testing.T) {
	for name, src := range examples(t, ".yaml") {
		e, err := experiment.Parse(name, src, cli.Kinds(), nil)
		if err != nil {
			t.Errorf("%v", err)
		} else if want := name[:len(name)-len(".yaml")]; e.Name != want || e.Description == "" {
			t.Errorf("%s: name %q, description %q; want %q and some words", name, e.Name, e.Description, want)
		}
	}
	for name, src := range examples(t, ".json") {
		if _, err := experiment.ParseJob(name, src); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// Every example satisfies the printed schema, read by a validator and a YAML
// decoder that know nothing of this package.
func TestExamplesSatisfySchema(t *testing.T) {
	b, err := experiment.Schema(cli.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	schema := compileSchema(t, b)
	for name, src := range examples(t, ".yaml") {
		var v map[string]any
		if err := yaml.Load(src, &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err = experiment.JobSchema(); err != nil {
		t.Fatal(err)
	}
	schema = compileSchema(t, b)
	for name, src := range examples(t, ".json") {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func compileSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every key of both formats is in the reference.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/experiment.md")
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties map[string]node `json:"properties"`
		Items      *node           `json:"items"`
	}
	var check func(n node, path string)
	check = func(n node, path string) {
		if n.Items != nil {
			check(*n.Items, path+"[]")
		}
		for key, sub := range n.Properties {
			full := strings.TrimPrefix(path+"."+key, ".")
			if sub.Properties == nil && !bytes.Contains(text, []byte("`"+full+"`")) {
				t.Errorf("docs/experiment.md does not name `%s`", full)
			}
			check(sub, full)
		}
	}
	for _, schema := range []func() ([]byte, error){
		func() ([]byte, error) { return experiment.Schema(cli.Kinds()) }, experiment.JobSchema,
	} {
		b, err := schema()
		if err != nil {
			t.Fatal(err)
		}
		var root node
		if err := json.Unmarshal(b, &root); err != nil {
			t.Fatal(err)
		}
		check(root, "")
	}
}

// The complete examples in docs/experiment.md parse, too.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/experiment.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := bytes.Split(text, []byte("```"))
	found := 0
	for i := 1; i < len(blocks); i += 2 {
		src, isYAML := bytes.CutPrefix(blocks[i], []byte("yaml\n"))
		if !isYAML || !bytes.Contains(src, []byte("workloads:")) {
			continue
		}
		found++
		if _, err := experiment.Parse("experiment.md", src, cli.Kinds(), nil); err != nil {
			t.Errorf("%v in\n%s", err, src)
		}
	}
	if found == 0 {
		t.Error("docs/experiment.md has no complete example")
	}
}

// A file that names a study evaluates what that measures, unless it says
// otherwise.
func TestEvaluationsOfStudy(t *testing.T) {
	for more, want := range map[string][]model.Phase{
		"":                         {model.Serial, model.Parallel},
		"study: {kind: cdi}":       {model.Serial, model.Parallel},
		"study: {kind: resources}": {model.Serial, model.Parallel},
		"study: {kind: capacity}":  {model.Search},
		"study: {kind: cdi}\nevaluations: [serial]": {model.Serial},
	} {
		e, err := experiment.Parse("e.yaml", []byte("fleet: {local: {nodes: 2}}\nworkloads: [{kind: load, target: 'http://127.0.0.1/'}]\n"+more), cli.Kinds(), nil)
		if err != nil {
			t.Errorf("%s: %v", more, err)
		} else if diff := cmp.Diff(want, e.Evaluations); diff != "" {
			t.Errorf("%s: evaluations (-want +got):\n%s", more, diff)
		}
	}
}

// Keys of the study capacity may stand at the workload, where files of earlier
// versions have them, and are checked there; but not in both places, nor where
// another study is asked. A study measures its own evaluations only.
func TestKeysOfStudyAtWorkload(t *testing.T) {
	for _, c := range []struct{ keys, more, want string }{
		{"sla: p90=1s, start: 5op/s, windows: 9, algorithm: paper, fraction: 2", "evaluations: [search]", ""},
		{"sla: p90=1s", "evaluations: [parallel]", ""},
		{"sla: p90=1s", "study: {kind: capacity, windows: 9}", ""},
		{"sla: fast", "evaluations: [search]", `2:60: workloads.load.sla: SLA "fast"`},
		{"start: 5op/s, min: 6op/s", "evaluations: [search]", "2:62: workloads.load.start: loads from 6 to"},
		{"start: 5MB/s", "evaluations: [search]", "2:62: workloads.load.start: 5MB/s is not a rate of requests"},
		{"windows: 4", "evaluations: [search]", "workloads.load.windows: 4 is too small"},
		{"fail_below: 4", "evaluations: [search]", `unknown key "fail_below"`},
		{"sla: p90=1s", "study: {kind: capacity, sla: p90=2s}", "workloads.load.sla: it also stands below study"},
		{"sla: p90=1s", "study: {kind: cdi}", "workloads.load.sla: it is a key of the study capacity, and the file asks for cdi"},
		{"", "study: {kind: capacity, sla: p90=1s}\nevaluations: [search, parallel]", "4:23: evaluations.1: the study capacity does not measure parallel"},
		{"", "study: {kind: capacity, sla: p90=1s, start: 5op/s, max: 1op/s}", "study.start: loads from 1 to 1 beginning with 5"},
	} {
		_, err := experiment.Parse("e.yaml", []byte("fleet: {local: {nodes: 2}}\nworkloads: [{kind: load, target: 'http://127.0.0.1/', "+c.keys+"}]\n"+c.more), cli.Kinds(), nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.keys, c.more, err, c.want)
		}
	}
}
