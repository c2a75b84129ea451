package ntier

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/scalebench/scalebench/internal/microbench"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// source is what was measured of all runs in question.
type source struct {
	title     string
	trials    []trial
	switching []microbench.Switch
	network   []microbench.Network
}

// runName is what the notation takes as a platform, and after it as a variant.
var runName = regexp.MustCompile(`^([a-z][a-z0-9_]*)(?:/([a-z][a-z0-9_]*))?$`)

// readAll reads all runs. The name that a run was given is the platform of its
// configurations, and after a slash their variant. A run without trials may have measured
// the nodes alone.
func (p *Params) readAll(in study.Input) (source, error) {
	var out source
	var titles []string
	var without error
	for _, r := range in.All() {
		name := runName.FindStringSubmatch(r.Name)
		if r.Name != "" && name == nil {
			return out, refuse("", fmt.Sprintf("%q cannot be the name of a platform, nor of one and a variant", r.Name),
				"use small letters, digits and _, as in ec2=RUN, or ec2/galera=RUN where variants of one configuration were "+
					"measured")
		}
		trials, err := p.readRun(r.Run)
		platform, _, _ := strings.Cut(r.Name, "/")
		switching, network := microOf(r.Run, platform, trials)
		switch {
		case errors.Is(err, errNoTrial) && len(switching)+len(network) > 0:
			without = err
		case err != nil:
			return out, err
		}
		for i := range trials {
			if c := &trials[i].configuration; name != nil {
				c.Platform, c.Variant = name[1], strings.Trim(name[2]+"_"+c.Variant, "_") // which may have a mix
			}
		}
		out.trials = append(out.trials, trials...)
		out.switching, out.network = append(out.switching, switching...), append(out.network, network...)
		titles = append(titles, r.Run.Title())
	}
	if len(out.trials) == 0 {
		return out, without
	}
	out.title = strings.Join(titles, ", ")
	return out, apart(out.trials)
}

// apart refuses configurations that were measured in two runs, or that have one name
// for what were two: trials of different fleets are no repetitions of each other.
func apart(trials []trial) error {
	type origin struct {
		run model.RunID
		of  string // its name in that run
	}
	first := make(map[string]origin)
	for _, t := range trials {
		if t.failed {
			continue
		}
		name := t.configuration.String()
		own, _, _ := strings.Cut(t.of.Label, ", ")
		o := origin{t.run.Run().ID, own}
		switch had, known := first[name]; {
		case !known:
			first[name] = o
		case had.run != o.run:
			return refuse("", fmt.Sprintf(
				"%s was measured by the runs %s and %s, and whether on the same platform is not known", name, had.run, o.run),
				fmt.Sprintf(
					"name their platforms: fast=%s slow=%s, say, or what differs on one platform: fast/galera=%s fast/partitioned=%s",
					had.run, o.run, had.run, o.run))
		case had.of != o.of:
			return refuse("", fmt.Sprintf("run %s has both %s and %s, which would both be %s", o.run, had.of, o.of, name),
				"leave out the name before the run")
		}
	}
	return nil
}

// errNoTrial: a run has nothing of this study.
var errNoTrial = fmt.Errorf("%w: there is no trial that counts", model.ErrUsage)
