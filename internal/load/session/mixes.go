package session

import (
	_ "embed" // the file of the mixes
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
)

// The mixes of the built-in board, by their names in a file.
const (
	BrowseOnly = "browse_only"
	ReadWrite  = "read_write"
	Author     = "author"
)

// Mixes are their names.
func Mixes() []string { return []string{BrowseOnly, ReadWrite, Author} }

// mixes say where users go from an interaction, of a thousand, in a paragraph for each mix.
// A mix has the lines of those before it, but for what it says itself. Users of the first one read: half of what
// they do is to look at stories and comments. Those of the second also register, comment,
// moderate and submit stories; authors also accept and reject them.
//
//go:embed mixes.txt
var mixes string

// ways are where users go from an interaction.
type ways map[string]int

// rowsOf are those of a mix, by the interaction that users come from; nil: there is none
// of that name.
func rowsOf(mix string) map[string]ways {
	rows := make(map[string]ways)
	for _, paragraph := range strings.Split(mixes, "\n\n")[:1+slices.Index(Mixes(), mix)] {
		for line := range strings.Lines(paragraph) {
			from, row, _ := strings.Cut(strings.TrimSpace(line), ": ")
			rows[from] = make(ways)
			for way := range strings.SplitSeq(row, ", ") {
				to, weight, _ := strings.Cut(way, " ")
				rows[from][to], _ = strconv.Atoi(weight) // a test adds them up
			}
		}
	}
	return rows
}

// Mix is a chain of our own over the interactions of the built-in board, or of a
// site that has interactions of the same names.
func Mix(name string, s site.Site) (*Chain, error) {
	rows := rowsOf(name)
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: there is no mix %q; the mixes are %v", model.ErrUsage, name, Mixes())
	}
	// All that a mix comes to is a row of its own.
	if lacks := slices.DeleteFunc(slices.Sorted(maps.Keys(rows)), func(of string) bool {
		return s.Index(of) >= 0
	}); len(lacks) > 0 {
		return nil, fmt.Errorf("%w: the mix %s visits what the site does not have: %s; give a site with interactions of these names, or transitions of your own", model.ErrUsage, name, strings.Join(lacks, ", "))
	}
	weights := make([][]float64, len(s))
	for i := range weights {
		// What the mix does not come to ends the session.
		weights[i] = make([]float64, len(s)+2)
		if _, ok := rows[s[i].Name]; !ok {
			weights[i][end(s)] = 1
		}
	}
	for from, row := range rows {
		for to, w := range row {
			weights[s.Index(from)][placeOf(to, s)] = float64(w)
		}
	}
	return newChain(s, weights)
}
