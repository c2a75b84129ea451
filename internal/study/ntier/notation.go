package ntier

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Configuration is how many hosts each tier has, and of which platform and type
// they are: "1-2-1-2-ec2-large" (the paper, section II-D, "#A-#T-#M-#D-ppp" with
// the instance type at the end). Tiers joined by + share hosts: in "1-2-2+2" the last
// two are on the same two machines. All others have hosts of their own. What else tells
// configurations apart that have the same hosts stands in parentheses, as in
// "1-1-2(galera)-ec2".
type Configuration struct {
	Counts []int
	// Joined says of each tier whether it is on the hosts of the one before it; nil:
	// none is.
	Joined   []bool
	Variant  string // empty: there is none
	Platform string // empty: whatever there is
	Type     string
}

// counts are those of a notation, each with what stands before it.
var counts = regexp.MustCompile(`([-+]?)(\d+)`)

var notation = regexp.MustCompile(`^(\d+(?:[-+]\d+)*)(?:\(([a-z][a-z0-9_]*)\))?(?:-([a-z][a-z0-9_]*))?(?:-([a-z0-9][a-z0-9_.]*))?$`)

// ParseConfiguration reads the notation, for so many tiers.
func ParseConfiguration(text string, tiers []string) (Configuration, error) {
	bad := func(problem string) error {
		return refuse("", fmt.Sprintf("%q %s", text, problem),
			fmt.Sprintf("one number for each of %s, with + between those that share hosts; then, in small letters and if "+
				"there are such, a variant in parentheses (in a table), a platform and a type: %s-ec2-large",
				strings.Join(tiers, ", "), strings.TrimSuffix(strings.Repeat("1-", len(tiers)), "-")))
	}
	m := notation.FindStringSubmatch(text)
	if m == nil {
		return Configuration{}, bad("is no configuration")
	}
	c := Configuration{Variant: m[2], Platform: m[3], Type: m[4]}
	const mostHosts = 10_000 // of a tier: what is asked about each of them ends
	for _, part := range counts.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.Atoi(part[2])
		switch {
		case err != nil || n > mostHosts:
			return Configuration{}, bad("has a tier of more than 10,000 hosts")
		case n < 1:
			return Configuration{}, bad("has a tier without a host")
		}
		c.Counts, c.Joined = append(c.Counts, n), append(c.Joined, part[1] == "+")
	}
	if !slices.Contains(c.Joined, true) {
		c.Joined = nil
	}
	if len(c.Counts) != len(tiers) {
		return Configuration{}, bad(fmt.Sprintf("has %d numbers, and there are %d tiers", len(c.Counts), len(tiers)))
	}
	if c.Type != "" && c.Platform == "" {
		return Configuration{}, bad("has a type and no platform")
	}
	return c, nil
}

// Shape is what platforms have in common: the counts, "1-2-1-2", "1-2-2+2", and the
// variant, "1-1-2(galera)".
func (c Configuration) Shape() string {
	text := ""
	for i, n := range c.Counts {
		between := "-"
		if c.joined(i) {
			between = "+"
		}
		text += between + strconv.Itoa(n)
	}
	text = text[min(1, len(text)):]
	if c.Variant != "" {
		text += "(" + c.Variant + ")"
	}
	return text
}

// joined reports whether a tier is on the hosts of the one before it.
func (c Configuration) joined(tier int) bool { return tier < len(c.Joined) && c.Joined[tier] }

// sets are the tiers by the hosts that they have: those of each share them.
func (c Configuration) sets() [][]int {
	var out [][]int
	for i := range c.Counts {
		if !c.joined(i) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	return out
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

// Hosts is how many machines there are in all: of tiers that share hosts, as many as
// the largest has.
func (c Configuration) Hosts() int {
	sum := 0
	for _, set := range c.sets() {
		sum += c.hostsOf(set)
	}
	return sum
}

// hostsOf is how many machines tiers have that share them.
func (c Configuration) hostsOf(set []int) (most int) {
	for _, tier := range set {
		most = max(most, c.Counts[tier])
	}
	return most
}

// label is how a trial is called: "1-2-1-em, 300 users", and of a proof "1-2-1, 300 users,
// proof: processor of db ×1.25", of a search "1-2-1, 300 users, sizes: app.pool=8". The analysis knows the trial by it.
type label struct {
	configuration Configuration
	users         int
	proof         string // what it changes; empty: it is none
	sizes         string // that a search tries; empty: it is of none
}

func (l label) String() string {
	text := l.configuration.String() + ", " + num.Count(l.users, "user")
	if l.proof != "" {
		text += ", proof: " + l.proof
	}
	if l.sizes != "" {
		text += ", sizes: " + l.sizes
	}
	return text
}

// labelOf reads that of a step; ok is false where the step is no trial.
func (p *Params) labelOf(s model.Step) (l label, ok bool) {
	name, rest, _ := strings.Cut(s.Label, ", ")
	_, l.proof, _ = strings.Cut(rest, ", proof: ")
	_, l.sizes, _ = strings.Cut(rest, ", sizes: ")
	switch n := s.Levels["users"].(type) {
	case float64:
		l.users = int(n)
	case int:
		l.users = n
	}
	var err error
	l.configuration, err = ParseConfiguration(name, p.Tiers)
	return l, err == nil && s.Phase == Phase && len(p.Tiers) > 0 && l.users > 0
}
