package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/unit"
)

// TestWithCPU: a step at the beginning of the measurement is its limit, and that of the
// preparation stays what the file says, unless the other is larger.
func TestWithCPU(t *testing.T) {
	from := func(at unit.Duration, cpu float64) []Step { return []Step{{At: at, CPU: cpu}} }
	for name, c := range map[string]struct {
		before      float64 // limits.cpu; 0: none
		steps       []Step
		cores       float64
		preparation float64
		measured    float64
	}{
		"no limit":                  {0, nil, .5, .5, .5},
		"no step":                   {2, nil, .5, .5, .5},
		"a step at the beginning":   {2, from(0, .2), .25, 2, .25},
		"a step, and no limit":      {0, from(0, .2), .25, 0, .25},
		"more than the preparation": {2, from(0, 1), 3, 3, 3},
		"a step later":              {2, from(5e9, 1), .5, .5, .5},
	} {
		s := Settings{Steps: c.steps}
		if c.before > 0 {
			s.Bounds = &Bounds{CPU: c.before, Memory: unit.MiB}
		}
		steps := slices.Clone(c.steps)
		got := s.WithCPU(c.cores)
		if got.bounds().CPU != c.preparation || got.CPU() != c.measured {
			t.Errorf("%s: %v cores before and %v from the beginning, want %v and %v", name, got.bounds().CPU, got.CPU(), c.preparation, c.measured)
		}
		if s.bounds().CPU != c.before || !slices.Equal(s.Steps, steps) || got.bounds().Memory != s.bounds().Memory {
			t.Errorf("%s: the file's are now %+v %+v, and the others %+v", name, s.Bounds, s.Steps, got.Bounds)
		}
	}
}

// TestPlaces: files, what is reset and what probes read are told where they cannot be.
func TestPlaces(t *testing.T) {
	files := func(paths ...string) (out []File) {
		for _, p := range paths {
			out = append(out, File{Path: p})
		}
		return out
	}
	log := func(file string) []probe.Probe {
		return []probe.Probe{{Kind: "accesslog", File: file, Pattern: `^(?P<path>\S+) (?P<micros>\d+)`}}
	}
	for name, c := range map[string]struct {
		s    Settings
		want string // empty: it is possible
	}{
		"files":                        {Settings{Files: files("a", "b/a", "b/c/a")}, ""},
		"a file twice":                 {Settings{Files: files("a", "./a")}, `files[1].path: "./a" is in the way of the file a`},
		"a file in a file":             {Settings{Files: files("a", "a/b")}, `files[1].path: "a/b" is in the way of the file a`},
		"a file where a folder is":     {Settings{Files: files("a/b", "a")}, `files[1].path: "a" is in the way of the file a/b`},
		"in the copy":                  {Settings{Files: files("data/my.cnf"), Reset: &Reset{From: "/var/lib/x"}}, ""},
		"in place of the copy":         {Settings{Files: files("data"), Reset: &Reset{From: "/var/lib/x"}}, `files[0].path: "data" is in the way of what is reset`},
		"in place of its folder":       {Settings{Files: files("a"), Reset: &Reset{From: "/var/lib/x", To: "a/b"}}, `files[0].path: "a" is in the way of what is reset`},
		"a copy that is the folder":    {Settings{Files: files("a"), Reset: &Reset{From: "/var/lib/x", To: "."}}, ""},
		"all of the disk":              {Settings{Reset: &Reset{From: "/var/.."}}, `reset.from: "/var/.." is no folder of data`},
		"the kernel's":                 {Settings{Reset: &Reset{From: "/proc/sys"}}, `reset.from: "/proc/sys" is no folder of data`},
		"in memory":                    {Settings{Reset: &Reset{From: "/dev/shm/db"}}, ""},
		"a name that begins so":        {Settings{Reset: &Reset{From: "/system/db"}}, ""},
		"a log":                        {Settings{Probes: log("log/access.log")}, ""},
		"a log that is somewhere else": {Settings{Probes: log("/var/log/access.log")}, `probes[0].file: "/var/log/access.log" leaves it`},
		"a log above the folder":       {Settings{Probes: log("../access.log")}, `probes[0].file: "../access.log" leaves it`},
	} {
		err := c.s.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Validate = %v, want %q", name, err, c.want)
		}
	}
}

// TestCheckInstances: a template is filled in for every instance, with as many of each
// service as a step has.
func TestCheckInstances(t *testing.T) {
	for template, want := range map[string]string{
		"{{(index .Service.db 1).Address}}":                                       "",
		"{{(index .Service.db 2).Address}}":                                       "files[0].template: it cannot be filled in",
		"{{if eq .Self.Index 2}}{{(index .Service.db .Self.Index).Index}}{{end}}": "this step has of each service: db 2, web 3",
		"{{range .Service.app}}{{.Address}}{{end}}":                               `no entry for key "app"`,
		"{{with index .Service \"app\"}}none{{end}}{{len .Service.web}} ${self}":  "",
	} {
		s := Settings{Files: []File{{Path: "a", Template: template}}}
		err := s.CheckInstances("web", map[string]int{"web": 3, "db": 2})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: CheckInstances = %v, want %q", template, err, want)
		}
	}
}
