package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
)

// gates are thresholds to which a command holds what a run has found: the
// parameters of studies whose flags begin with "fail-".
type gates struct {
	flags map[string]*paramFlags // by study
	fixed answer.Params
}

// add defines the flags of all studies that say what is measured.
func (g *gates) add(cmd *cobra.Command) {
	g.flags = make(map[string]*paramFlags)
	for _, kind := range Studies() {
		if len(kind.Phases) > 0 {
			g.flags[kind.Name] = addSomeParams(cmd.Flags(), kind.New(), func(flag string) bool { return strings.HasPrefix(flag, "fail-") })
		}
	}
}

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
