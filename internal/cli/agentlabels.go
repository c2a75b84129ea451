package cli

import (
	"fmt"
	"strings"
)

// allAgents is the value of a flag that asks for agents whatever their labels.
const allAgents = "all"

// agentLabels is a flag: labels that agents must have, KEY=VALUE,…, or "all".
// Given more than once, all of them count.
type agentLabels struct {
	given  bool
	labels map[string]string
}

// Set implements pflag.Value.
func (a *agentLabels) Set(text string) error {
	if a.labels == nil {
		a.labels = make(map[string]string)
	}
	a.given = true
	if text == "" || text == allAgents {
		return nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || key == "" {
			return fmt.Errorf("%q must be KEY=VALUE, several separated by commas, or %s", pair, allAgents)
		}
		a.labels[key] = value
	}
	return nil
}

// String implements pflag.Value; there is no default.
func (a *agentLabels) String() string { return "" }

// Type implements pflag.Value.
func (a *agentLabels) Type() string { return "KEY=VALUE,..." }

// commaList is a flag: values separated by commas, which grow with each use.
type commaList []string

// Set takes the values of one use.
func (l *commaList) Set(text string) error {
	if text != "" {
		*l = append(*l, strings.Split(text, ",")...)
	}
	return nil
}

// Type is what help shows in place of the value.
func (*commaList) Type() string { return "strings" }
