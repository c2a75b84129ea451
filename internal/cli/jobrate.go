package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// jobRateRE is a number of jobs per second: "227", "227/s" or "227 videos/s".
var jobRateRE = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(?: ?([A-Za-z]*)/s)?$`)

// jobRateAllowed says in words what parseJobRate accepts.
const jobRateAllowed = `want a plain number of jobs per second above 0, such as 227, 227/s or 2000/s; "k" and "M" are not understood here`

// parseJobRate reads jobs per second. What the jobs are called is no matter,
// but a name that may begin with a prefix ("2k/s", "2kjobs/s", "2Mjobs/s") and
// amounts of bytes or bits are refused: they would be read as 2.
func parseJobRate(flag, text string) (float64, error) {
	found := jobRateRE.FindStringSubmatch(text)
	if found == nil || prefixed(found[2]) || isAmount(found[2]) {
		return 0, fmt.Errorf("%w: %s %q: %s", model.ErrUsage, flag, text, jobRateAllowed)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil || !(v > 0) {
		return 0, fmt.Errorf("%w: %s %q: %s", model.ErrUsage, flag, text, jobRateAllowed)
	}
	return v, nil
}

// prefixed reports a name that may begin with an SI or binary prefix: any "k",
// any capital of one, and small letters that stand alone.
func prefixed(name string) bool {
	return len(name) == 1 || len(name) > 1 && strings.ContainsRune("kKMGTPE", rune(name[0]))
}

// isAmount reports a unit of bytes or bits.
func isAmount(name string) bool {
	switch name {
	case "byte", "bytes", "bits":
		return true
	}
	rate, err := unit.ParseRate("1" + name + "/s")
	return err == nil && rate.Base != unit.Operations
}
