package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/golden"
)

func TestSchemaGolden(t *testing.T) {
	b, err := Schema(testKinds())
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/schema.json", string(b))
}

// What Schema prints is a schema, with a validator that knows nothing of ours:
// it accepts a valid file and refuses what its patterns exclude.
func TestSchemaStandsAlone(t *testing.T) {
	b, err := Schema(testKinds())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///x", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("mem:///x")
	for _, tc := range []struct {
		src string
		ok  bool
	}{
		{valid, true}, {full, true},
		{valid + "trials: 0", false}, {valid + "trails: 1", false}, {valid + "timeouts: {task: 5}", false},
		{valid + "timeouts: {task: '5'}", false}, {"fleet: {local: {nodes: 1}}\nworkloads: [{kind: spin, duration: 5}]", false},
		{"fleet: {local: {nodes: 1}}\nworkloads: [{kind: shell}]", false},
		{working("all"), true}, {working("2 per core"), true}, {working("4096"), true}, {working("0"), false},
		{working("4097"), false}, {working("'4'"), false}, {working("per core"), false}, {working("{}"), false},
	} {
		probs := &problems{}
		f := readYAML([]byte(tc.src), probs)
		if f == nil {
			t.Fatal(probs.err())
		}
		if err := schema.Validate((*value)(f.root).plain()); (err == nil) != tc.ok {
			t.Errorf("the schema says %v of\n%s\nwant valid: %v", err, tc.src, tc.ok)
		}
		if _, err := Parse("f.yaml", []byte(tc.src), testKinds(), nil); (err == nil) != tc.ok {
			t.Errorf("Parse says %v of\n%s\nwant valid: %v", err, tc.src, tc.ok)
		}
	}
}

// working is a file with so many workers.
func working(workers string) string {
	return "fleet: {local: {nodes: 1}}\nworkloads: [{kind: spin, workers: " + workers + "}]\n"
}

// Whatever the schema refuses, Parse refuses.
func TestParseHoldsToSchema(t *testing.T) {
	b, err := Schema(testKinds())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///x", doc); err != nil {
		t.Fatal(err)
	}
	schema, refused := c.MustCompile("mem:///x"), 0
	check := func(src string) {
		f := readYAML([]byte(src), &problems{})
		if f == nil || schema.Validate((*value)(f.root).plain()) == nil {
			return
		}
		refused++
		if _, err := Parse("f.yaml", []byte(src), testKinds(), nil); err == nil {
			t.Errorf("the schema refuses, and Parse accepts\n%s", src)
		}
	}
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(string(src))
	}
	// Each value of a valid file in turn becomes something else.
	lines := strings.Split(full, "\n")
	for i, line := range lines {
		key, _, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		for _, other := range []string{"null", "-1", "2.5", "true", "text", "[1, 1]", "{x: 1}", "1e20", "\"\""} {
			changed := slices.Clone(lines)
			changed[i] = key + ": " + other
			check(strings.Join(changed, "\n"))
		}
	}
	if refused < 50 {
		t.Errorf("the schema refused %d files only", refused)
	}
}

func TestSchemaRefusesBadKinds(t *testing.T) {
	type clash struct {
		spin
		Timeout int `json:"timeout"`
	}
	reg := Kinds{Workloads: workload.NewRegistry(workload.Kind{Name: "clash", New: func() workload.Workload { return &clash{} }})}
	if _, err := Schema(reg); err == nil {
		t.Error("Schema accepted a parameter named timeout")
	}
	if _, err := Parse("f.yaml", []byte(valid), reg, nil); err == nil {
		t.Error("Parse accepted a parameter named timeout")
	}
}
