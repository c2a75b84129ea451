package ntier

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Configuration is how many hosts each tier has, and of which platform and type
// they are: "1-2-1-2-ec2-large" (the paper, section II-D, "#A-#T-#M-#D-ppp" with
// the instance type at the end).
type Configuration struct {
	Counts   []int
	Platform string // empty: whatever there is
	Type     string
}

var notation = regexp.MustCompile(`^(\d{1,5}(?:-\d{1,5})*)(?:-([a-z][a-z0-9_]*))?(?:-([a-z0-9][a-z0-9_.]*))?$`)

// ParseConfiguration reads the notation, for so many tiers.
func ParseConfiguration(text string, tiers []string) (Configuration, error) {
	bad := func(problem string) error {
		return &model.InputError{Problem: fmt.Sprintf("%q %s", text, problem),
			Allowed: fmt.Sprintf("one number for each of %s, then a platform and a type if there are such: %s-ec2-large", strings.Join(tiers, ", "), strings.TrimSuffix(strings.Repeat("1-", len(tiers)), "-"))}
	}
	m := notation.FindStringSubmatch(text)
	if m == nil {
		return Configuration{}, bad("is no configuration")
	}
	c := Configuration{Platform: m[2], Type: m[3]}
	for number := range strings.SplitSeq(m[1], "-") {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return Configuration{}, bad("has a tier without a host")
		}
		c.Counts = append(c.Counts, n)
	}
	if len(c.Counts) != len(tiers) {
		return Configuration{}, bad(fmt.Sprintf("has %d numbers, and there are %d tiers", len(c.Counts), len(tiers)))
	}
	if c.Type != "" && c.Platform == "" {
		return Configuration{}, bad("has a type and no platform")
	}
	return c, nil
}

// Shape is the counts alone: "1-2-1-2".
func (c Configuration) Shape() string {
	parts := make([]string, len(c.Counts))
	for i, n := range c.Counts {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, "-")
}

// Place is platform and type: "ec2-large"; empty: it has none.
func (c Configuration) Place() string {
	if c.Type == "" {
		return c.Platform
	}
	return c.Platform + "-" + c.Type
}

// String is the notation.
func (c Configuration) String() string {
	if c.Platform == "" {
		return c.Shape()
	}
	return c.Shape() + "-" + c.Place()
}

// Hosts is how many there are in all tiers.
func (c Configuration) Hosts() int {
	sum := 0
	for _, n := range c.Counts {
		sum += n
	}
	return sum
}
