package experiment

import (
	"fmt"
	"regexp"
	"unicode"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/schedule"
	"github.com/scalebench/scalebench/internal/unit"
)

// Formats of strings that the schema names and this package checks.
const (
	formatDuration = "scalebench-duration"
	formatSize     = "scalebench-size"
	formatRate     = "scalebench-rate"
	formatName     = "scalebench-name" // of a workload
	formatLine     = "scalebench-line" // one line of printable text
	formatNode     = "scalebench-node" // "*" or a node id
	formatTime     = "scalebench-time" // a date, or a date with the time
)

// formats check texts of each format. The errors say what is allowed.
var formats = map[string]func(string) error{
	formatDuration: func(s string) error { _, err := unit.ParseDuration(s); return err },
	formatSize:     func(s string) error { _, err := unit.ParseSize(s); return err },
	formatRate:     func(s string) error { _, err := unit.ParseRate(s); return err },
	formatName:     checkName,
	formatLine:     checkLine,
	formatNode:     checkNode,
	formatTime:     schedule.CheckTime,
}

// nameRE keeps workload names usable in --set paths, CSV columns and file
// names.
var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func checkName(s string) error {
	if !nameRE.MatchString(s) {
		return fmt.Errorf("%q cannot be a name; use 1 to 64 letters, digits, _ and -, beginning with a letter or digit", clip(s))
	}
	return nil
}

func checkLine(s string) error {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%q holds a character that cannot be printed; use one line of text", clip(s))
		}
	}
	return nil
}

// AllNodes stands for every node in a job file.
const AllNodes = "*"

func checkNode(s string) error {
	if s == AllNodes {
		return nil
	}
	if err := model.NodeID(s).Validate(); err != nil {
		return fmt.Errorf(`%q cannot be a node; use "*" for all nodes, or a node id: 1 to 128 letters, digits, or . _ : -, beginning with a letter or digit`, clip(s))
	}
	return nil
}

// clip shortens text that a message quotes.
func clip(s string) string { return term.Cut(s, 61) }
