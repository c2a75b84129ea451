package report

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Summary says in a few sentences, for somebody who decides and does not
// measure, what a run found: what degrades and by how much first.
func Summary(d model.RunData, findings []model.Finding) []string {
	if len(findings) == 0 {
		return []string{withoutFindings(d), stateSentence(d.Run)}[:1+one(d.Run.State != model.RunDone && d.Run.Reason != "")]
	}
	by := byVerdict(findings)
	var out []string
	for _, sentence := range []string{
		lossSentence(by[model.VerdictDegraded], len(findings)),
		worthSentence(by[model.VerdictDegraded]),
		gainSentence(by[model.VerdictGain]),
		noneSentence(by[model.VerdictNone], len(findings)),
		unknownSentence(by[model.VerdictUnknown], len(findings)),
	} {
		if sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func byVerdict(findings []model.Finding) map[model.Verdict][]model.Finding {
	out := make(map[model.Verdict][]model.Finding)
	for _, f := range findings {
		out[verdictOf(f)] = append(out[verdictOf(f)], f)
	}
	return out
}

// lossSentence names the worst of the degraded findings.
func lossSentence(lost []model.Finding, of int) string {
	if len(lost) == 0 {
		return ""
	}
	worst := lost[0]
	for _, f := range lost {
		if *f.CDI > *worst.CDI {
			worst = f
		}
	}
	fact := fmt.Sprintf("each %s loses %s of its capacity%s", noun(worst.Of), num.Percent(*worst.CDI), intervalWords(worst))
	if of == 1 {
		return fmt.Sprintf("%s: %s, %s.", name(worst), atOnce(worst), fact)
	}
	if len(lost) == 1 {
		return fmt.Sprintf("One of %d metrics degrades: %s, %s in %s.", of, atOnce(worst), fact, name(worst))
	}
	return fmt.Sprintf("%d of %d metrics degrade when %s work at once. The worst is %s: with %s, %s.",
		len(lost), of, allOf(lost), name(worst), subjects(worst), fact)
}

// allOf names what the findings are of: "nodes", "pairs", or both.
func allOf(findings []model.Finding) string {
	if ofBoth(findings) {
		return "nodes or pairs"
	}
	return nounOfAll(findings)
}

func atOnce(f model.Finding) string {
	if f.Nodes == 1 {
		return "in the parallel evaluation, with one " + noun(f.Of)
	}
	return fmt.Sprintf("when all %s work at once", subjects(f))
}

func intervalWords(f model.Finding) string {
	shown := shownInterval(f.CI)
	if shown == nil {
		return ""
	}
	lo, _ := strings.CutSuffix(num.Percent(shown[0]), " %")
	return fmt.Sprintf(" (95 %% interval %s to %s)", lo, num.Percent(shown[1]))
}

// worthSentence turns the worst loss into nodes: S = n·E = n·(1 − CDI/100).
func worthSentence(lost []model.Finding) string {
	if len(lost) == 0 {
		return ""
	}
	worst := lost[0]
	for _, f := range lost {
		if *f.CDI > *worst.CDI {
			worst = f
		}
	}
	if worst.Nodes < 2 {
		return ""
	}
	return fmt.Sprintf("Together the %s do the work of %s.", subjects(worst), worthText(worst))
}

// worthText says how many nodes, or pairs, without degradation the fleet is worth.
func worthText(f model.Finding) string {
	if f.CDI == nil || !num.Finite(*f.CDI) {
		return num.Missing
	}
	worth := float64(f.Nodes) * (1 - *f.CDI/100)
	digits := "%.1f"
	if worth >= 99.95 {
		digits = "%.0f"
	}
	if s := fmt.Sprintf(digits, worth); s != "1.0" {
		return s + " " + noun(f.Of) + "s"
	}
	return "1.0 " + noun(f.Of)
}

func gainSentence(gain []model.Finding) string {
	if len(gain) == 0 {
		return ""
	}
	return fmt.Sprintf("Capacity per node is higher at once than alone for %s: look for what the serial evaluation suffered from.",
		listNames(gain))
}

// noneSentence tells findings in which nothing was found from those that were
// too coarse to find much: a reader must not take the second for the first.
func noneSentence(none []model.Finding, of int) string {
	var sharp, coarse []model.Finding
	for _, f := range none {
		if _, wide := notExcluded(f); wide {
			coarse = append(coarse, f)
			continue
		}
		sharp = append(sharp, f)
	}
	var out []string
	switch {
	case len(sharp) == 1 && of == 1:
		out = append(out, fmt.Sprintf("No loss of capacity was found %s%s.", atOnce(sharp[0]), closeWords(sharp[0])))
	case len(sharp) > 0 && len(sharp) == of:
		out = append(out, fmt.Sprintf("No loss of capacity was found in any of %d metrics.", of))
	case len(sharp) > 0:
		out = append(out, fmt.Sprintf("No loss was found for %s.", listNames(sharp)))
	}
	if len(coarse) > 0 {
		out = append(out, coarseSentence(coarse, of))
	}
	return strings.Join(out, " ")
}

// coarseSentence names the largest loss that intervals around 0 leave possible.
func coarseSentence(coarse []model.Finding, of int) string {
	worst := coarse[0]
	for _, f := range coarse {
		if f.CI[1] > worst.CI[1] {
			worst = f
		}
	}
	about, which := " for "+listNames(coarse), ""
	if of == 1 {
		about = " " + atOnce(worst)
	}
	if len(coarse) > 1 {
		which = " of " + name(worst)
	}
	return fmt.Sprintf("No loss could be shown%s, but the measurement is coarse: a loss%s of up to %s is not excluded (upper end of the 95 %% interval).",
		about, which, num.Percent(shownInterval(worst.CI)[1]))
}

// closeWords says how large a loss can still be, which is what a reader who
// is told "no loss" has to know.
func closeWords(f model.Finding) string {
	shown := shownInterval(f.CI)
	if shown == nil || shown[1] <= 0 {
		return ""
	}
	return fmt.Sprintf("; a loss of up to %s is not excluded (upper end of the 95 %% interval)", num.Percent(shown[1]))
}

func unknownSentence(unknown []model.Finding, of int) string {
	if len(unknown) == 0 {
		return ""
	}
	s := fmt.Sprintf("The measurement does not allow a verdict on %s", listNames(unknown))
	if of == 1 {
		s = "The measurement does not allow a verdict"
	}
	if w := unknown[0].Warnings; len(w) > 0 && len(unknown) == 1 {
		return s + ": " + strings.TrimSuffix(table.Clean(w[0]), ".") + "."
	}
	return s + "; the warnings say why."
}

// listNames lists up to four findings by name.
func listNames(findings []model.Finding) string {
	const most = 4
	var names []string
	for _, f := range findings[:min(most, len(findings))] {
		names = append(names, name(f))
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

func withoutFindings(d model.RunData) string {
	if d.Run.Kind == model.KindBatch {
		return batchSentence(d)
	}
	switch d.Run.State {
	case model.RunCancelled:
		return "This run was cancelled before a degradation could be computed."
	case model.RunFailed:
		return "This run failed before a degradation could be computed."
	case model.RunPending, model.RunRunning:
		return "This run is not over: nothing can be concluded yet."
	case model.RunInterrupted:
		return "This run was interrupted before a degradation could be computed; `scalebench resume` continues it."
	}
	return "This run has no complete pair of a serial and a parallel evaluation: no degradation can be computed."
}

// batchSentence counts jobs: a batch is run, not compared.
func batchSentence(d model.RunData) string {
	ok, all := 0, 0
	for _, s := range d.Steps {
		all += len(s.Tasks)
	}
	for _, r := range d.Accepted() {
		ok += one(r.Outcome == model.OutcomeOK)
	}
	if ok == all {
		return fmt.Sprintf("All %s ended as intended.", count(all, "job"))
	}
	return fmt.Sprintf("%d of %s ended as intended.", ok, count(all, "job"))
}

func stateSentence(r model.Run) string {
	return "Reason: " + strings.TrimSuffix(table.Clean(r.Reason), ".") + "."
}
