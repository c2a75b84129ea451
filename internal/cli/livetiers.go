package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// values is how things are now in the tasks of a step: of users, and of services.
type values map[model.TaskID]told

// told is what a task told, and when it came.
type told struct {
	at     time.Time
	values map[string]float64
}

// staleAfter is for how long a value is how things are now: it is told each second.
const staleAfter = 5 * time.Second

// forget leaves out what was told too long ago, as by a node that is gone.
func (v values) forget(now time.Time) {
	maps.DeleteFunc(v, func(_ model.TaskID, t told) bool { return now.Sub(t.at) > staleAfter })
}

// most lines that tiers have: the block must not be higher than the terminal.
const maxTiers = 6

// sum adds up a value of all tasks; ok is false where none tells it.
func (v values) sum(name string) (sum float64, ok bool) {
	for _, task := range v {
		x, told := task.values[name]
		sum, ok = sum+x, ok || told
	}
	return sum, ok
}

// used are the shares that the hosts of each tier use of their processors, sorted.
func (v values) used() map[string][]float64 {
	out := make(map[string][]float64)
	for _, task := range v {
		for name, x := range task.values {
			if service, what, _ := strings.Cut(name, ":"); what == model.LiveUsed {
				out[service] = append(out[service], x)
			}
		}
	}
	for _, shares := range out {
		slices.Sort(shares)
	}
	return out
}

// lines are those below the one of the step: "run; 80 users, 38 op/s, 0 errors/s", and
// one for each tier. Stages are "; run", or empty.
func (v values) lines(stages string) (out []string) {
	if text := v.users(); text != "" {
		stages += "; " + text
	}
	if text := strings.TrimPrefix(stages, "; "); text != "" {
		out = append(out, "  "+text)
	}
	used := v.used()
	names := slices.Sorted(maps.Keys(used))
	wide := 0
	for _, n := range names {
		wide = min(max(wide, term.Width(printable(n))), 20)
	}
	for i, n := range names {
		if i == maxTiers && len(names) > maxTiers+1 {
			rest := names[i:]
			top := slices.MaxFunc(rest, func(a, b string) int { return cmp.Compare(stats.Average(used[a]), stats.Average(used[b])) })
			return append(out, fmt.Sprintf("  and %d more, at most %s of %s", len(rest), percent(stats.Average(used[top])), printable(top)))
		}
		name := term.Cut(printable(n), wide)
		out = append(out, "  "+name+strings.Repeat(" ", wide-term.Width(name))+"  "+tierText(used[n]))
	}
	return out
}

func (v values) users() string {
	n, ok := v.sum(model.LiveUsers)
	if !ok {
		return ""
	}
	rate, _ := v.sum(model.LiveRate)
	errs, _ := v.sum(model.LiveErrors)
	return fmt.Sprintf("%s, %s, %s", num.Count(int(n), "user"), num.Human(rate, "op/s"), num.Human(errs, "errors/s"))
}

// text is all of it on a line, for where nothing can be redrawn.
func (v values) text() string {
	var out []string
	if text := v.users(); text != "" {
		out = append(out, text)
	}
	used := v.used()
	for _, n := range slices.Sorted(maps.Keys(used)) {
		out = append(out, printable(n)+" "+percent(stats.Average(used[n])))
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}

// tierText draws how much of their processors the hosts of a tier use: the mean, and of
// several the least and the most.
func tierText(shares []float64) string {
	const width = 20
	filled := int(math.Round(width * min(max(stats.Average(shares), 0), 1)))
	text := fmt.Sprintf("[%s%s] %5s of processor", strings.Repeat("#", filled), strings.Repeat(" ", width-filled), percent(stats.Average(shares)))
	if n := len(shares); n > 1 {
		text += fmt.Sprintf(", %d hosts: %s to %s", n, percent(shares[0]), percent(shares[n-1]))
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
