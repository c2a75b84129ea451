// Package data uses sentences as data in every way that is refused, a line each.
package data

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
)

type result struct {
	Warnings []caveat.Text
	Text     caveat.Text
}

func use(r result, other caveat.Text) {
	_ = r.Text == other                    // compared
	_ = other != ""                        // compared
	_ = r.Text + other                     // joined
	_ = string(r.Text)                     // converted
	_ = caveat.Text(fmt.Sprint("made"))    // made
	_ = r.Text[0]                          // searched
	_ = r.Text[1:]                         // cut
	_ = map[caveat.Text]int{}[other]       // key
	_ = slices.Contains(r.Warnings, other) // looks
	_ = fmt.Sprint(r.Warnings)             // looks
	_ = result{Text: "written"}            // written
	for range r.Text {                     // searched
	}
	switch r.Text { // compared
	}
}

func show(r result) []caveat.Text {
	all := append(slices.Clone(r.Warnings), r.Text, caveat.Sentence("allowed"))
	return all[1:]
}
