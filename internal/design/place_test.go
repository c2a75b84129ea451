package design

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// laidOut is a treatment of the file with tiers.
func laidOut(t *testing.T, levels map[string]study.ServiceLevel, nodes []model.Node) (Design, error) {
	t.Helper()
	src := strings.NewReplacer("on: {tier: front}", "on: {role: server}", "on: {tier: back}", "on: {role: server}", "on: {tier: users}", "on: {role: users}").Replace(tiersFile)
	e := parse(t, src)
	treatment := study.Treatment{Phase: "pool", Workload: "nap", Trial: 1, Services: levels}
	e.Designers = []experiment.Designer{{Designer: &probe{known(treatment)}, Kind: "a"}}
	return Build(e, testRun, nodes)
}

// placed says where its services are.
func placed(t *testing.T, levels map[string]study.ServiceLevel, nodes []model.Node) (map[string]string, error) {
	t.Helper()
	d, err := laidOut(t, levels, nodes)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for name, level := range d.Steps[0].Services {
		out[name] = fmt.Sprint(level.Nodes)
	}
	return out, nil
}

// TestCompany: a service that is no tier goes to a host of its own while there is one,
// and else the plan says where it is.
func TestCompany(t *testing.T) {
	levels := map[string]study.ServiceLevel{"app": {Count: 1, Hosts: "app"}, "db": {Count: 1, Hosts: "db"}}
	for sizes, want := range map[string]string{"s s s": "[n4]", "s s": "[n2]"} {
		d, err := laidOut(t, levels, servers(strings.Fields(sizes)...))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Steps[0].Services["web"].Nodes); got != want {
			t.Errorf("%s: web is on %s, want %s", sizes, got, want)
		}
		note := "web is on n2, a host of app, for no other node has role=server"
		if text := strings.Join(d.Notes, "; "); strings.Contains(text, note) != (sizes == "s s") || len(d.Notes) > 1 {
			t.Errorf("%s: notes %q", sizes, d.Notes)
		}
	}
}

// servers are a node with users and some with services, of these sizes.
func servers(sizes ...string) []model.Node {
	nodes := tiered(append([]string{"users"}, sizes...)...)
	for i := range nodes {
		nodes[i].Labels["role"] = map[bool]string{true: "users", false: "server"}[i == 0]
		nodes[i].Labels["size"] = nodes[i].Labels["tier"]
	}
	return nodes
}

// TestPlace: services with the same hosts share them, others have none in common, also
// where the first could take what only another can use.
func TestPlace(t *testing.T) {
	level := func(hosts string, count int, on ...string) study.ServiceLevel {
		l := study.ServiceLevel{Count: count, Hosts: hosts}
		if len(on) > 0 {
			l.On = map[string]string{"size": on[0]}
		}
		return l
	}
	for name, c := range map[string]struct {
		levels map[string]study.ServiceLevel
		sizes  []string
		want   map[string]string
	}{
		"apart":           {map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 2), "db": level("db", 1)}, []string{"s", "s", "s", "s"}, map[string]string{"web": "[n2]", "app": "[n3 n4]", "db": "[n5]"}},
		"shared":          {map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 2), "db": level("app", 2)}, []string{"s", "s", "s"}, map[string]string{"web": "[n2]", "app": "[n3 n4]", "db": "[n3 n4]"}},
		"shared in part":  {map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 1), "db": level("app", 2)}, []string{"s", "s", "s"}, map[string]string{"web": "[n2]", "app": "[n3]", "db": "[n3 n4]"}},
		"left for others": {map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 1), "db": level("db", 1, "big")}, []string{"big", "s", "s"}, map[string]string{"web": "[n4]", "app": "[n3]", "db": "[n2]"}},
		"as in the file":  {map[string]study.ServiceLevel{"db": level("", 1)}, []string{"s", "s"}, map[string]string{"web": "[n2]", "app": "[n2]", "db": "[n2]"}},
		"large where it must be": {map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 1, "big"), "db": level("app", 1)}, []string{"s", "big"},
			map[string]string{"web": "[n2]", "app": "[n3]", "db": "[n3]"}},
	} {
		got, err := placed(t, c.levels, servers(c.sizes...))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for want, c := range map[string]struct {
		levels map[string]study.ServiceLevel
		sizes  []string
	}{
		"services.db.count: 4 hosts of their own are asked for (web 1, app 2, db 1), of 3 nodes with role=server; add nodes, ask for fewer, or let services share hosts": {
			map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 2), "db": level("db", 1)}, []string{"s", "s", "s"}},
		"services.db.count: 2 hosts of their own are asked for (app 1, db 1), of 1 node with role=server, size=big": {
			map[string]study.ServiceLevel{"web": level("web", 1), "app": level("app", 1, "big"), "db": level("db", 1, "big")}, []string{"s", "big", "s"}},
		"services.db.on: it is to share hosts with app, and no node has both size=big and size=small": {
			map[string]study.ServiceLevel{"app": level("app", 1, "big"), "db": level("app", 1, "small")}, []string{"big", "small"}},
		"services.db.count: 3 instances are asked for, and 2 nodes have role=server": {
			map[string]study.ServiceLevel{"app": level("app", 1), "db": level("app", 3)}, []string{"s", "s"}},
	} {
		if _, err := placed(t, c.levels, servers(c.sizes...)); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
