package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// alternatives is a file with two services of one name, of which one is used.
const alternatives = `fleet: {lab: {nodes: 1}}
choose: {data: one, web: quick}
services:
  - {name: db, when: {data: one}, command: one, port: 1}
  - {name: db, when: {data: [two, three]}, command: several, port: 2}
  - {name: web, when: {data: [one, two], web: quick}, command: web, port: 3}
  - {name: other, command: other, port: 4}
workloads: [{kind: shell, command: "${service.db}"}]
`

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []string
		want string
	}{
		{"as in the file", nil, "one web other"},
		{"another one", []string{"choose.data=two"}, "several web other"},
		{"an alternative goes without a second one", []string{"choose.data=three"}, "several other"},
		{"whatever the order, of what was chosen a key is set", []string{"services.db.command=mine", "choose.data=two"}, "mine web other"},
	} {
		e := parse(t, alternatives, c.set...)
		for _, again := range []*Experiment{e, parse(t, e.Source)} {
			var got []string
			for _, s := range again.Services {
				got = append(got, s.Command)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: services (-want +got):\n%s", c.name, diff)
			}
			if diff := cmp.Diff(e.Choose, again.Choose); diff != "" {
				t.Errorf("%s: what is chosen, and in the executed file:\n%s", c.name, diff)
			}
		}
	}
}

func TestChooseErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"no such alternative", strings.Replace(alternatives, "choose: {data: one,", "choose: {data: four,", 1),
			`f.yaml:2:16: choose.data: no service is there for "four"; use one, two, three`},
		{"nothing is chosen", strings.Replace(alternatives, "choose: {data: one, ", "choose: {", 1),
			`f.yaml:4:23: services.0.when.data: nothing is chosen for it; write choose: {data: one} at the top of the file`},
		{"a key that no service has", strings.Replace(alternatives, "web: quick}\nservices", "web: quick, dta: two}\nservices", 1),
			`f.yaml:2:33: choose.dta: no service has it in its when; choose among data, web`},
		{"no group", strings.Replace(alternatives, "when: {data: one}", "when: one", 1),
			`f.yaml:4:22: services.0.when: must be a group of keys, not "one"; write when: {data: replicated}, and choose: {data: replicated} at the top of the file`},
	} {
		_, err := Parse("f.yaml", []byte(c.src), testKinds(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}
