package experiment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// standIn is what parameters are checked with in place of a service's address,
// which is only known when the lab is up: an address such as a lab gives.
const standIn = "10.213.0.1"

// placeholderRE finds ${service.NAME}, also one that is not closed.
var placeholderRE = regexp.MustCompile(`\$\{service\.([A-Za-z0-9_-]*)(\}?)`)

// withStandIns returns the parameters of a workload with an address in place
// of each ${service.NAME}; the parameters stay as they are. It notes names
// that no service has, and is then false.
func (c *checker) withStandIns(params map[string]any, e *Experiment, path []string) (map[string]any, bool) {
	f := &filler{check: c, known: slices.Compact(slices.Sorted(slices.Values(c.serviceNames(e)))), ok: true}
	filled, _ := f.fill(params, path).(map[string]any)
	return filled, f.ok
}

// serviceNames are the names that the file gives to services, whether or not
// the rest of each is right.
func (c *checker) serviceNames(e *Experiment) []string {
	var names []string
	for _, s := range e.Services {
		names = append(names, s.Name)
	}
	if list := c.root.get("services"); len(names) == 0 && list != nil {
		for _, item := range list.items {
			names = append(names, item.get("name").text())
		}
	}
	return names
}

// filler replaces placeholders in a JSON value.
type filler struct {
	check *checker
	known []string
	ok    bool
}

// fill returns v with every string filled; what changes is copied.
func (f *filler) fill(v any, path []string) any {
	switch v := v.(type) {
	case string:
		return f.text(v, path)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = f.fill(v[i], extend(path, strconv.Itoa(i)))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = f.fill(v[k], extend(path, k))
		}
		return out
	}
	return v
}

func (f *filler) text(s string, path []string) string {
	return placeholderRE.ReplaceAllStringFunc(s, func(found string) string {
		name := placeholderRE.FindStringSubmatch(found)[1]
		if found != model.ServicePlaceholder(name) {
			f.report(path, fmt.Sprintf("%q is not closed", clip(found)), "write ${service.NAME}")
		} else if !slices.Contains(f.known, name) {
			f.report(path, fmt.Sprintf("there is no service %q", clip(name)), f.allowed(name))
		}
		return standIn
	})
}

func (f *filler) report(path []string, problem, allowed string) {
	f.ok = false
	f.check.report(path, problem, allowed)
}

// allowed lists the services that there are.
func (f *filler) allowed(name string) string {
	if len(f.known) == 0 {
		return "the file has no services"
	}
	all := "the services are " + strings.Join(f.known, ", ")
	if s := Suggest(name, f.known); s != "" {
		return fmt.Sprintf("did you mean %q? %s%s", s, strings.ToUpper(all[:1]), all[1:])
	}
	return all
}
