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
		}
		if c.set != nil && (strings.Contains(e.Source, "choose:") || !strings.Contains(e.Source, "# chosen were data: "+e.Choose["data"]+", web: quick\n")) {
			t.Errorf("%s: the executed file says otherwise what was chosen than by a comment:\n%s", c.name, e.Source)
		}
	}
}

// TestChosenInComment: what was chosen stays in its comment, whatever it is called.
func TestChosenInComment(t *testing.T) {
	src := strings.NewReplacer("choose: {data: one", `choose: {data: "one\ntrials: 7"`, "when: {data: one}", `when: {data: "one\ntrials: 7"}`).Replace(alternatives)
	e := parse(t, src, "seed=3")
	if again := parse(t, e.Source); again.Trials != 1 || !strings.Contains(e.Source, "# chosen were data: one trials: 7, web: quick\n") {
		t.Errorf("%d trials of\n%s", again.Trials, e.Source)
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
		{"nothing to choose", strings.NewReplacer("when: {data: one}, ", "", "when: {data: [two, three]}, ", "", "when: {data: [one, two], web: quick}, ", "", "name: db, command: several", "name: db2, command: several").Replace(alternatives),
			`f.yaml:2:10: choose.data: no service has a when, so there is nothing to choose; give the alternatives when: {data: …}, or remove choose`},
		{"no services", "fleet: {local: {nodes: 1}}\nchoose: {data: one}\nworkloads: [{kind: shell, command: x}]\n",
			`f.yaml:2:10: choose.data: no service has a when`},
		{"an empty group", strings.Replace(alternatives, "when: {data: one}", "when: {}", 1),
			`f.yaml:4:22: services.0.when: is empty; write when: {data: replicated}`},
		{"an empty list", strings.Replace(alternatives, "when: {data: one}", "when: {data: []}", 1),
			`f.yaml:4:29: services.0.when.data: must be text, or a list of texts with one at least, not a list; write when: {data: replicated}`},
		{"an empty list, and nothing is chosen", strings.NewReplacer("choose: {data: one, ", "choose: {", "when: {data: one}", "when: {data: []}").Replace(alternatives),
			`services.0.when.data: must be text, or a list of texts with one at least, not a list`},
		{"a group in a list", strings.Replace(alternatives, "when: {data: one}", "when: {data: [{a: b}]}", 1),
			`services.0.when.data: must be text, or a list of texts with one at least, not a list`},
	} {
		_, err := Parse("f.yaml", []byte(c.src), testKinds(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}
