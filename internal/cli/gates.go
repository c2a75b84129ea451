package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// gates are the thresholds that a command applies to the results of a run:
// the parameters of studies with a flag that begins with "fail-".
type gates []gate

// gate is what one study can be held to.
type gate struct {
	kind  study.Kind
	flags *paramFlags
}

// add defines the flags of all studies that are about a run. Where several have
// one of the same name it is for each of them: the run decides which is asked.
func (g *gates) add(cmd *cobra.Command) {
	for _, kind := range Studies() {
		params := kind.New()
		if kind.Optional || kind.Takes != nil && kind.Takes(params).Named {
			continue
		}
		own := pflag.NewFlagSet(kind.Name, pflag.ContinueOnError)
		threshold := func(flag string) bool { return strings.HasPrefix(flag, "fail-") }
		flags := addSomeParams(own, study.Parameters(params), threshold)
		if len(flags.flags) == 0 {
			continue
		}
		*g = append(*g, gate{kind, flags})
		own.VisitAll(func(f *pflag.Flag) {
			f.Usage = kind.Name + ": " + f.Usage
			if first := cmd.Flags().Lookup(f.Name); first != nil {
				first.Value, first.Usage = both{first.Value, f.Value}, first.Usage+"; "+f.Usage
				return
			}
			cmd.Flags().AddFlag(f)
		})
	}
}

// both is a flag that sets the parameters of several studies.
type both struct {
	pflag.Value
	also pflag.Value
}

// Set implements pflag.Value.
func (b both) Set(text string) error { return errors.Join(b.Value.Set(text), b.also.Set(text)) }

// given are the thresholds that were given, each possible by itself for one of
// the studies that it may be for.
func (g gates) given() (answer.Params, error) {
	params := answer.Params{}
	taken, refused := make(map[string]bool), make(map[string]error) // by key
	for _, x := range g {
		some, err := x.flags.given()
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			continue
		}
		err = answer.Set(Studies(), x.kind.New(), some)
		for key := range some {
			if err == nil {
				taken[key] = true
			} else if refused[key] == nil {
				refused[key] = err
			}
		}
		params[x.kind.Name] = some
	}
	for _, key := range slices.Sorted(maps.Keys(refused)) {
		if !taken[key] {
			return nil, refused[key]
		}
	}
	return params, nil
}

// flag is the first of the flags that were given, empty where none was.
func (g gates) flag() string {
	for _, x := range g {
		for _, f := range x.flags.flags {
			if f.changed {
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
	switch own := exp.Study; {
	case err != nil || len(params) == 0:
		return err
	case own != nil && params[own.Kind] == nil:
		return fmt.Errorf("%w: %s does not apply to the file's study %s; leave it out", model.ErrUsage, g.flag(), own.Kind)
	case own != nil:
		return answer.Set(Studies(), own.Study, params[own.Kind])
	}
	var unfit error
	for _, x := range g {
		if params[x.kind.Name] == nil || len(x.kind.Phases) == 0 && x.kind.Tells == nil {
			continue // a study that speaks only where it is named
		}
		if x.kind.Named {
			if unfit != nil {
				continue // a study that needs no name is what people mean
			}
			unfit = fmt.Errorf("%w: %s is for files that name the study %s, and %s does not; leave it out", model.ErrUsage, gates{x}.flag(), x.kind.Name, exp.SourceName)
			continue
		}
		if len(x.kind.Phases) == 0 || slices.ContainsFunc(x.kind.Phases, exp.Has) {
			return nil
		}
		list := func(phases []model.Phase) string { return strings.ReplaceAll(fmt.Sprint(phases), " ", ", ") }
		unfit = fmt.Errorf("%w: %s needs evaluations: %s, and %s has %s; leave it out",
			model.ErrUsage, gates{x}.flag(), list(x.kind.Phases), exp.SourceName, list(exp.Evaluations))
	}
	return unfit
}
