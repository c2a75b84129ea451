package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Limit is a threshold that a user gave: results are at most so much. One rule
// holds for the thresholds of all studies: a result keeps it if its whole
// interval does, and misses it if its whole interval does; an interval on both
// sides tells neither.
type Limit struct {
	Most float64
	Unit string // of the limit; empty: none
	// By says where the user gave it, for messages.
	By string
}

// Check holds an interval to the limit. what begins the message: "disk
// disk_write: the CDI".
func (l Limit) Check(what string, lo, hi float64) error {
	switch {
	case hi <= l.Most:
		return nil
	case lo > l.Most:
		return fmt.Errorf("%w: %s is %.4g to %.4g%s, above %s", model.ErrThreshold, what, lo, hi, l.unit(), l.amount())
	}
	return l.Unknown(fmt.Sprintf("%s is %.4g to %.4g%s", what, lo, hi, l.unit()))
}

// Unknown is the error where nothing tells whether the limit is kept.
func (l Limit) Unknown(why string) error {
	return fmt.Errorf("%w: %s, so the threshold of %s (%s) cannot be checked", model.ErrInvalid, why, l.amount(), l.By)
}

func (l Limit) amount() string { return strconv.FormatFloat(l.Most, 'g', -1, 64) + l.unit() }

// unit is the unit behind a number.
func (l Limit) unit() string {
	if l.Unit == "" {
		return ""
	}
	return " " + l.Unit
}

// Percent is an amount in percent: 5 is 5 %. As a flag it may have the sign.
type Percent float64

// Set reads a flag: "5" or "5%".
func (p *Percent) Set(text string) error {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return errors.New("must be a number of percent, such as 5 or 2.5%")
	}
	*p = Percent(x)
	return nil
}

// Type is what help shows in place of the value.
func (*Percent) Type() string { return "percent" }

// Thresholds are the keys of a study that hold its answer against a number, as far as
// they are set.
func Thresholds(s Study) []string {
	var all map[string]any
	text, err := json.Marshal(Parameters(s))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return slices.Sorted(func(yield func(string) bool) {
		for key, value := range all {
			if strings.HasPrefix(key, "fail_") && value != nil && !yield(key) {
				return
			}
		}
	})
}
