package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/search"
)

// reasonsOf says why a window was not passed.
func reasonsOf(w capacity.Judged) string {
	switch {
	case len(w.Generators) > 0:
		return table.Clean(w.Generators[0])
	case w.PathChanged && w.Verdict == capacity.Unusable:
		return table.Clean(w.PathChange)
	}
	return table.Clean(strings.Join(w.Misses, "; "))
}

// briefReason is reasonsOf without what it means and what to do about it, which
// need be told only once.
func briefReason(w capacity.Judged) string {
	text := reasonsOf(w)
	if len(w.Generators) > 0 {
		text, _, _ = strings.Cut(text, ";")
	}
	return text
}

// hiddenReason is why a window was not passed where that is neither its
// latency nor its errors.
func hiddenReason(x capacity.Found, w capacity.Judged) string {
	ofRamp := x.Config.Algorithm == search.Paper && w.Phase == search.Ramp
	if w.Verdict == capacity.Unusable || w.Verdict == capacity.Missed && ofRamp {
		return reasonsOf(w)
	}
	return ""
}

// hiddenReasons lists the hidden reasons of all windows. Those that differ in
// their figures only are told once: "4 to 6, 9: … were in use for 92.7% to 101%".
func hiddenReasons(x capacity.Found) (lines []string) {
	var kinds []string
	texts, windows := make(map[string][]string), make(map[string][]int)
	for i, w := range x.Result.Windows {
		text := hiddenReason(x, w)
		if text == "" {
			continue
		}
		kind := withoutFigures(text)
		if len(texts[kind]) == 0 {
			kinds = append(kinds, kind)
		}
		texts[kind], windows[kind] = append(texts[kind], text), append(windows[kind], i+1)
	}
	for _, k := range kinds {
		lines = append(lines, numbersText(windows[k])+": "+mergedText(texts[k]))
	}
	return lines
}

// figureRE is a figure with its unit, and what ends a part of a sentence.
var figureRE = regexp.MustCompile(`^([0-9][0-9.,]*(?:%|[a-zµ]*))([;:,.]?)$`)

// withoutFigures is what texts have in common that differ in their figures only.
// A name with a number in it is no figure.
func withoutFigures(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = figureRE.ReplaceAllString(w, "0$2")
	}
	return strings.Join(words, " ")
}

// mergedText is the text of several that differ in their figures only: of each
// figure the smallest and the largest.
func mergedText(texts []string) string {
	var all [][]string
	for _, t := range texts {
		all = append(all, strings.Fields(t))
	}
	words := slices.Clone(all[0])
	for i, w := range words {
		parts := figureRE.FindStringSubmatch(w)
		if parts == nil {
			continue
		}
		lo, hi := parts[1], parts[1]
		for _, other := range all[1:] {
			v := figureRE.FindStringSubmatch(other[i])[1]
			if figureValue(v) < figureValue(lo) {
				lo = v
			}
			if figureValue(v) > figureValue(hi) {
				hi = v
			}
		}
		if lo != hi {
			words[i] = lo + " to " + hi + parts[2]
		}
	}
	return strings.Join(words, " ")
}

// figureValue is a duration in seconds, or a number whatever its unit.
func figureValue(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds()
	}
	v, _ := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(text, "%abcdefghijklmnopqrstuvwxyzµ"), ",", ""), 64)
	return v
}

// numbersText lists ascending numbers, and runs of them by their ends: "4 to 6,
// 9".
func numbersText(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		k := i
		for k+1 < len(ns) && ns[k+1] == ns[k]+1 {
			k++
		}
		switch k - i {
		case 0:
			parts = append(parts, fmt.Sprint(ns[i]))
		case 1:
			parts = append(parts, fmt.Sprint(ns[i]), fmt.Sprint(ns[k]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", ns[i], ns[k]))
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
}
