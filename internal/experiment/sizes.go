package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
)

// Sizes name variables of a service's environ.
type Sizes struct {
	Pool    string `json:"pool,omitempty" jsonschema_description:"Holds how many connections its pool to the next tier has."`
	Threads string `json:"threads,omitempty" jsonschema_description:"Holds how many threads it has, or requests it works on at a time."`
	Cache   string `json:"cache,omitempty" jsonschema_description:"Holds how large its cache is, in the unit that the command takes."`
}

// variables are those that are named, by their keys.
func (s Sizes) variables() map[string]string {
	out := map[string]string{"pool": s.Pool, "threads": s.Threads, "cache": s.Cache}
	maps.DeleteFunc(out, func(_, name string) bool { return name == "" })
	return out
}

// SizesNow are the sizes of the service, by their keys; nil: it names none.
func (s Service) SizesNow() map[string]int {
	var out map[string]int
	for key, name := range s.Sizes.variables() {
		if n, err := strconv.Atoi(s.Environ[name]); err == nil {
			if out == nil {
				out = make(map[string]int)
			}
			out[key] = n
		}
	}
	return out
}

// WithSizes is the environ of the service with other sizes.
func (s Service) WithSizes(sizes map[string]int) (map[string]string, error) {
	environ, names := maps.Clone(s.Environ), s.Sizes.variables()
	for _, key := range slices.Sorted(maps.Keys(sizes)) {
		if names[key] == "" {
			return nil, &model.InputError{Path: "services." + s.Name + ".sizes", Problem: "it names no variable for " + key, Allowed: fmt.Sprintf("name it: sizes: {%s: NAME}", key)}
		}
		environ[names[key]] = strconv.Itoa(sizes[key])
	}
	return environ, nil
}

// checkSizes notes variables that hold no size.
func (r *reader) checkSizes(s Service, path []string) {
	names := s.Sizes.variables()
	for _, key := range slices.Sorted(maps.Keys(names)) {
		at, allowed := append(slices.Clone(path), "sizes", key), fmt.Sprintf("give a number from 1 on, which the command takes from there: environ: {%s: \"50\"}", names[key])
		switch value, ok := s.Environ[names[key]]; {
		case !ok:
			r.report(at, fmt.Sprintf("environ has no %s", clip(names[key])), allowed)
		case s.SizesNow()[key] < 1:
			r.report(at, fmt.Sprintf("%s is %q in environ", clip(names[key]), clip(value)), allowed)
		}
	}
}
