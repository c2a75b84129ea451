// Package data uses sentences as data in every way that is refused, a line each.
package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
)

const constant = "made"

type result struct {
	Warnings []caveat.Text
	Text     caveat.Text
}

func use(r result, other caveat.Text) {
	_ = r.Text == other                            // compared
	_ = other != ""                                // compared
	_ = r.Text + other                             // joined
	_ = string(r.Text)                             // converted
	_ = caveat.Text(fmt.Sprint("made"))            // made
	_ = r.Text[0]                                  // searched
	_ = r.Text[1:]                                 // cut
	_ = map[caveat.Text]int{}[other]               // key
	_ = slices.Contains(r.Warnings, other)         // looks
	_ = fmt.Sprint(r.Warnings)                     // looks
	_ = result{Text: "written"}                    // written
	_ = strings.Contains(doc.Words(other), "lost") // looks
	_ = doc.Words(other) == "x"                    // compared
	_ = len(other)                                 // measured
	_ = caveat.Text(constant)                      // made
	for range r.Text {                             // searched
	}
	switch r.Text { // compared
	}
}

func show(r result) []caveat.Text {
	all := append(slices.Clone(r.Warnings), r.Text, caveat.Sentence("allowed"))
	return all[1:]
}
