package cli

import (
	"errors"
	"fmt"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload/load"
)

// check refuses flags that would be of no effect, or would only fail after
// hours of measurement. changed reports whether a flag was given.
func (opt capacityOptions) check(target string, changed func(flag string) bool) error {
	if err := opt.run.check(); err != nil {
		return err
	}
	for _, x := range []struct {
		flag    string
		ok      bool
		allowed string
	}{
		{"resolution", opt.resolution > 0, "a share from 0.001 to 0.5"},
		{"windows", opt.windows > 0, "a number from 5 to 1000"},
		{"connections", opt.conns > 0, "a number from 1 to 60000"},
		{"records", opt.records > 0, "a number from 1"},
		{"generators", opt.generators > 0, "a number from 1 to 256"},
	} {
		if changed(x.flag) && !x.ok {
			return fmt.Errorf("%w: --%s: allowed is %s", model.ErrUsage, x.flag, x.allowed)
		}
	}
	switch {
	case changed("generators") && opt.agents.given:
		return fmt.Errorf("%w: --generators are processes of this machine and --agents those of a fleet: give one of the two", model.ErrUsage)
	case opt.expect != "" && !load.OverHTTP(target):
		return fmt.Errorf("%w: --expect is for targets that begin with http:// or https://", model.ErrUsage)
	}
	if _, err := engine.ParseStatuses(opt.expect); opt.expect != "" && err != nil {
		return fmt.Errorf("--expect: %w", err)
	}
	return opt.checkFloor()
}

// checkFloor refuses a load that is wanted and must not be tried.
func (opt capacityOptions) checkFloor() error {
	if least := opt.run.least; opt.max.given && least.given && opt.max.rate < least.rate {
		return fmt.Errorf("%w: --fail-below %v cannot be told with --max %v: allow a larger load", model.ErrUsage, least.rate, opt.max.rate)
	}
	return nil
}

// flagOf are the flags for keys of the file whose names differ, those of the
// workload without its path.
var flagOf = map[string]string{
	"target": "TARGET", "duration": "--window", "request_timeout": "--timeout", "headers": "--header",
	"data.workload": "--mix", "data.records": "--records",
	"objects.operation": "--mix", "objects.count": "--records", "objects.size": "--object-size", "fleet.local.nodes": "--generators",
}

// inFlags says what is wrong with the file that the command stands for by its
// flags: nobody has written that file.
func inFlags(err error) error {
	var all model.InputErrors
	if !errors.As(err, &all) {
		return err
	}
	for _, e := range all {
		key, ofWorkload := strings.CutPrefix(e.Path, "workloads.capacity.")
		switch flag := flagOf[key]; {
		case flag != "":
			e.Path, e.Flag = "", flag
		case ofWorkload:
			e.Path, e.Flag = "", "--"+strings.ReplaceAll(key, "_", "-")
		}
	}
	return err
}
