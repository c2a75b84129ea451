package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentLabels(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  map[string]string // nil: refused
	}{
		{[]string{"all"}, map[string]string{}},
		{[]string{""}, map[string]string{}},
		{[]string{"role=generator"}, map[string]string{"role": "generator"}},
		{[]string{"role=generator, zone=", "rack=a=b"}, map[string]string{"role": "generator", "zone": "", "rack": "a=b"}},
		{[]string{"role"}, nil},
		{[]string{"=x"}, nil},
	} {
		var a agentLabels
		var err error
		for _, text := range c.texts {
			if e := a.Set(text); e != nil {
				err = e
			}
		}
		if c.want == nil {
			if err == nil {
				t.Errorf("Set(%q) = %v, want an error", c.texts, a.labels)
			}
			continue
		}
		if diff := cmp.Diff(c.want, a.labels); diff != "" || err != nil || !a.given {
			t.Errorf("Set(%q): %v (-want +got):\n%s", c.texts, err, diff)
		}
	}
}
