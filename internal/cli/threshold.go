package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/model"
)

// threshold is the flag --fail-above: the largest CDI, in percent, that a user
// accepts. The zero value accepts everything.
type threshold struct {
	percent float64
	given   bool
}

func (t *threshold) addFlag(cmd *cobra.Command) {
	cmd.Flags().Var(t, "fail-above", "exit code 3 if a CDI is above so many percent, 4 if a verdict is unknown")
}

// String implements pflag.Value.
func (t *threshold) String() string {
	if !t.given {
		return ""
	}
	return strconv.FormatFloat(t.percent, 'g', -1, 64)
}

// Type implements pflag.Value; help prints it.
func (t *threshold) Type() string { return "PERCENT" }

// Set implements pflag.Value. NaN is refused: nothing is above it.
func (t *threshold) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New("want a number of percent, such as 10 or 2.5")
	}
	t.percent, t.given = v, true
	return nil
}

// check returns a model.ErrThreshold that names what is above the threshold,
// and a model.ErrInvalid that names what is unknown. An unknown finding may
// have a CDI, but not one that can be relied on, so it is only unknown.
func (t threshold) check(findings []model.Finding) error {
	if !t.given {
		return nil
	}
	if len(findings) == 0 {
		return fmt.Errorf("%w: there is no CDI to hold against --fail-above %s", model.ErrInvalid, &t)
	}
	var errs []error
	for _, f := range findings {
		name := f.Workload + " " + f.Metric
		switch {
		case f.CDI == nil || math.IsNaN(*f.CDI) || f.Verdict == model.VerdictUnknown:
			errs = append(errs, fmt.Errorf("%w: %s: the verdict is unknown, so --fail-above %s cannot be answered", model.ErrInvalid, name, &t))
		case *f.CDI > t.percent:
			errs = append(errs, fmt.Errorf("%w: %s: the CDI is %.4g %%, above %s %%", model.ErrThreshold, name, *f.CDI, &t))
		}
	}
	return errors.Join(errs...)
}
