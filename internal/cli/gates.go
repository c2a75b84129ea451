package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// gates are thresholds to which a command holds what a run has found: the
// parameters of studies of which the flags begin with "fail-".
type gates []gate

// gate is what one study can be held to.
type gate struct {
	kind  study.Kind
	flags *paramFlags
	// fixed are parameters in place of those that the flags were given.
	fixed map[string]json.RawMessage
}

// add defines the flags of all studies that say what is measured.
func (g *gates) add(cmd *cobra.Command) {
	for _, kind := range Studies() {
		if len(kind.Phases) > 0 {
			flags := addSomeParams(cmd.Flags(), kind.New(), func(flag string) bool { return strings.HasPrefix(flag, "fail-") })
			*g = append(*g, gate{kind: kind, flags: flags})
		}
	}
}

// given are the thresholds that were given, each possible by itself.
func (g gates) given() (answer.Params, error) {
	params := answer.Params{}
	for _, x := range g {
		some, err := x.flags.given()
		if err != nil {
			return nil, err
		}
		if x.fixed != nil {
			some = x.fixed
		}
		if len(some) == 0 {
			continue
		}
		if err := answer.Check(x.kind, some); err != nil {
			return nil, err
		}
		params[x.kind.Name] = some
	}
	return params, nil
}

// flag is the first of the flags that were given, empty where none was.
func (g gates) flag() string {
	for _, x := range g {
		for _, f := range x.flags.flags {
			if f.changed && strings.HasPrefix(f.name, "fail-") {
				return "--" + f.name
			}
		}
	}
	return ""
}

// fit refuses thresholds for what an experiment does not measure: they would
// only fail after hours of it.
func (g gates) fit(exp *experiment.Experiment) error {
	params, err := g.given()
	if err != nil || exp.Study != nil {
		return err
	}
	for _, x := range g {
		measured := func(p model.Phase) bool { return slices.Contains(exp.Evaluations, p) }
		if params[x.kind.Name] != nil && !slices.ContainsFunc(x.kind.Phases, measured) {
			list := func(phases []model.Phase) string { return strings.ReplaceAll(fmt.Sprint(phases), " ", ", ") }
			return fmt.Errorf("%w: %s needs evaluations: %s, and %s has %s; leave it out",
				model.ErrUsage, gates{x}.flag(), list(x.kind.Phases), exp.SourceName, list(exp.Evaluations))
		}
	}
	return nil
}
