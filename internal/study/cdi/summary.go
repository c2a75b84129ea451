package cdi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// summary says in a few sentences, for a reader who decides and does not
// measure, what was found: what degrades and by how much first. There is always
// one.
func summary(run *observe.Run, findings []evaluation.Finding) []string {
	if len(findings) == 0 {
		return withoutFindings(run)
	}
	by := make(map[evaluation.Verdict][]evaluation.Finding)
	for _, f := range findings {
		by[f.Verdict] = append(by[f.Verdict], f)
	}
	var out, told []string
	if lost := by[evaluation.Degraded]; len(lost) > 0 {
		worst := slices.MaxFunc(lost, func(a, b evaluation.Finding) int { return cmp.Compare(*a.CDI, *b.CDI) })
		out = append(out, lossSentence(worst, lost, len(findings)))
		told = append(told, worst.Name())
		if worst.Nodes > 1 {
			out = append(out, fmt.Sprintf("Together the %s.", worst.Work()))
		}
	}
	if gain := by[evaluation.Gain]; len(gain) > 0 {
		out = append(out, fmt.Sprintf("Capacity per node is higher at once than alone for %s: look for what the serial evaluation suffered from.", listNames(gain)))
	}
	if none := by[evaluation.None]; len(none) > 0 {
		out = append(out, noneSentence(none, len(findings)))
	}
	if unclear := by[evaluation.Unclear]; len(unclear) > 0 {
		out = append(out, unclearSentence(unclear, len(findings)))
	}
	if unknown := by[evaluation.Unknown]; len(unknown) > 0 {
		out = append(out, unknownSentence(unknown, len(findings)))
	}
	parts := partsSentences(findings, told)
	if len(findings) == 1 && findings[0].Verdict != evaluation.Degraded &&
		(len(findings[0].Parts) > 0 || findings[0].EachText() != "") {
		return append(parts, out...) // who loses comes before whether such nodes do
	}
	return append(out, parts...)
}

// partsSentences name the nodes that are unlike the others, but for the losses that
// were told already.
func partsSentences(findings []evaluation.Finding, told []string) []string {
	var out []string
	for _, f := range findings {
		if text := cmp.Or(f.PartsText(), f.EachText()); text != "" && !slices.Contains(told, f.Name()) {
			out = append(out, fmt.Sprintf("%s: %s.", f.Name(), text))
		}
	}
	for _, f := range findings {
		if text := f.SerialPartsText(); text != "" {
			out = append(out, fmt.Sprintf("%s: %s.", f.Name(), text))
		}
	}
	return out
}

// lossSentence names the worst of the degraded findings.
func lossSentence(worst evaluation.Finding, lost []evaluation.Finding, of int) string {
	var fact string
	switch parts := worst.PartsText(); {
	case parts != "":
		fact = fmt.Sprintf("%s; together they lose %s", parts, num.Percent(*worst.CDI))
	case worst.Alike():
		fact = fmt.Sprintf("each %s loses %s of its capacity", worst.Of, num.Percent(*worst.CDI))
	case worst.EachText() != "":
		fact = fmt.Sprintf("%s; together they lose %s", worst.EachText(), num.Percent(*worst.CDI))
	default:
		fact = fmt.Sprintf("a %s loses %s of its capacity on average", worst.Of, num.Percent(*worst.CDI))
	}
	if shown := worst.CI; shown != nil {
		lo, _ := strings.CutSuffix(num.Percent(shown[0]), " %")
		fact += fmt.Sprintf(" (95 %% interval %s to %s)", lo, num.Percent(shown[1]))
	}
	switch {
	case of == 1:
		return fmt.Sprintf("%s: %s, %s.", worst.Name(), atOnce(worst), fact)
	case len(lost) == 1:
		return fmt.Sprintf("One of %d metrics degrades: %s, %s in %s.", of, atOnce(worst), fact, worst.Name())
	}
	all := string(lost[0].Of) + "s"
	if slices.ContainsFunc(lost, func(f evaluation.Finding) bool { return f.Of != lost[0].Of }) {
		all = "nodes or pairs"
	}
	return fmt.Sprintf("%d of %d metrics degrade when %s work at once. The worst is %s: with %s, %s.", len(lost), of, all, worst.Name(), worst.Count(), fact)
}

func atOnce(f evaluation.Finding) string {
	if f.Nodes == 1 {
		return "in the parallel evaluation, with one " + string(f.Of)
	}
	return fmt.Sprintf("when all %s work at once", f.Count())
}

// noneSentence says how large a loss would have been seen.
func noneSentence(none []evaluation.Finding, of int) string {
	switch {
	case of == 1:
		return fmt.Sprintf("No loss of capacity was found %s; one of more than %s is excluded (upper end of the 95 "+
			"%% interval).", atOnce(none[0]), none[0].MostLostText())
	case len(none) == of:
		return fmt.Sprintf("No loss of capacity was found in any of %d metrics.", of)
	}
	return fmt.Sprintf("No loss was found for %s.", listNames(none))
}

// unclearSentence names the largest loss that intervals around 0 leave possible.
func unclearSentence(unclear []evaluation.Finding, of int) string {
	worst := slices.MaxFunc(unclear, func(a, b evaluation.Finding) int { return cmp.Compare(a.MostLost(), b.MostLost()) })
	about, which := " for "+listNames(unclear), ""
	if of == 1 {
		about = " " + atOnce(worst)
	}
	if len(unclear) > 1 {
		which = " of " + worst.Name()
	}
	whether := "It is unclear whether capacity is lost"
	if of == 1 && len(worst.Parts) > 0 {
		whether = "It is unclear what such " + string(worst.Of) + "s lose on average"
	}
	return fmt.Sprintf("%s%s: a loss%s of up to %s is not excluded (upper end of the 95 %% interval); the warnings "+
		"say what would settle it.",
		whether, about, which, worst.MostLostText())
}

func unknownSentence(unknown []evaluation.Finding, of int) string {
	s := fmt.Sprintf("The measurement does not allow a verdict on %s", listNames(unknown))
	if of == 1 {
		s = "The measurement does not allow a verdict"
	}
	if why := unknown[0].Doubts; len(why) > 0 && len(unknown) == 1 {
		return s + ": " + doc.Words(evaluation.Reason(why[0])) + "."
	}
	return s + "; the warnings say why."
}

// listNames lists up to four findings by name.
func listNames(findings []evaluation.Finding) string {
	const most = 4
	var names []string
	for _, f := range findings[:min(most, len(findings))] {
		names = append(names, f.Name())
	}
	if more := len(findings) - most; more > 0 {
		return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", more)
	}
	if len(names) > 1 {
		last := len(names) - 1
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return names[0]
}

// withoutFindings says why nothing was found.
func withoutFindings(run *observe.Run) []string {
	const nothing = "This run has no complete pair of a serial and a parallel evaluation: no degradation can be computed."
	if run == nil {
		return []string{nothing}
	}
	r := run.Run()
	said, ok := map[model.RunState]string{
		model.RunCancelled:   "This run was cancelled before a degradation could be computed.",
		model.RunFailed:      "This run failed before a degradation could be computed.",
		model.RunPending:     "This run is not over: nothing can be concluded yet.",
		model.RunRunning:     "This run is not over: nothing can be concluded yet.",
		model.RunInterrupted: "This run was interrupted before a degradation could be computed; `scalebench resume` continues it.",
	}[r.State]
	if !ok {
		said = nothing
	}
	out := []string{said}
	if r.State != model.RunDone && r.Reason != "" {
		out = append(out, "Reason: "+strings.TrimSuffix(r.Reason, ".")+".")
	}
	return out
}
