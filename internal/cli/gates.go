package cli

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/answer"
)

// gates are thresholds to which a command holds what a run has found: the
// parameters of studies whose flags begin with "fail-".
type gates struct {
	flags map[string]*paramFlags // by study
	fixed answer.Params
}

// add defines the flags of all studies that are about a run. Where several have
// one of the same name it is for each of them: the run decides which is asked.
func (g *gates) add(cmd *cobra.Command) {
	g.flags = make(map[string]*paramFlags)
	for _, kind := range Studies() {
		if kind.Optional {
			continue
		}
		own := pflag.NewFlagSet(kind.Name, pflag.ContinueOnError)
		flags := addSomeParams(own, kind.New(), func(flag string) bool { return strings.HasPrefix(flag, "fail-") })
		if len(flags.flags) == 0 {
			continue
		}
		g.flags[kind.Name] = flags
		own.VisitAll(func(f *pflag.Flag) {
			f.Usage = kind.Name + ": " + f.Usage
			if first := cmd.Flags().Lookup(f.Name); first != nil {
				first.Value, first.Usage = both{first.Value, f.Value}, first.Usage+"\n"+f.Usage
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

// set gives a threshold that is no flag of add.
func (g *gates) set(study, key string, value json.RawMessage) {
	g.fixed = answer.Params{study: {key: value}}
}

// given are the thresholds that were given, and the first of their flags.
func (g *gates) given() (params answer.Params, flag string, err error) {
	params = answer.Params{}
	for study, fixed := range g.fixed {
		params[study] = fixed
		for key := range fixed {
			flag = "--" + strings.ReplaceAll(key, "_", "-")
		}
	}
	for study, flags := range g.flags {
		some, err := flags.given()
		if err != nil {
			return nil, "", err
		}
		if len(some) > 0 {
			params[study] = some
		}
		for _, f := range flags.flags {
			if f.changed {
				flag = "--" + f.name
			}
		}
	}
	return params, flag, nil
}
