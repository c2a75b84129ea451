package search_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/search"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/capacity-search.md")

// searches is how many servers each row of the tables stands for.
const searches = 1000

// TestTable lets the algorithms search the same simulated servers, and holds
// the default one to being better than the others on both counts: answers near
// the truth, and windows used. With -v it prints the tables; with -update it
// writes them into docs/capacity-search.md.
func TestTable(t *testing.T) {
	n := many()
	var table, decades strings.Builder
	decades.WriteString("| windows | algorithm | 100 to 1,000 | to 10,000 | to 100,000 | to 1,000,000 |\n|---|---|---|---|---|---|\n")
	table.WriteString("| windows | algorithm | answer within 5 % of the truth | answer more than 5 % above | `passed` within 5 % | interval holds the truth | windows, mean | 95 % need at most | windows per right answer |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for i, sit := range situations {
		scores := map[string]score{}
		for _, c := range []contestant{ours, hawk, coarse, paper} {
			s := contest(t, c, sit, n)
			scores[c.name] = s
			fmt.Fprintf(&table, "| %s | %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f | %d | %.1f |\n",
				sit.name, c.name, 100*s.right, 100*s.over, 100*s.passed, 100*s.holds, s.mean, s.p95, s.mean/s.right)
			if i > 1 { // two situations say it
				continue
			}
			fmt.Fprintf(&decades, "| %s | %s | %.1f | %.1f | %.1f | %.1f |\n",
				sit.name, c.name, s.quarters[0], s.quarters[1], s.quarters[2], s.quarters[3])
		}
		for _, c := range []contestant{hawk, coarse, paper} {
			checkRight(t, sit, c.name, scores[ours.name], scores[c.name])
		}
		checkFewer(t, sit, paper.name, scores[ours.name], scores[paper.name])
		if !sit.hard {
			checkFewer(t, sit, hawk.name, scores[ours.name], scores[hawk.name])
		}
		checkInterval(t, sit, scores[ours.name])
	}
	t.Log("\n" + table.String() + "\n" + decades.String())
	compareDocs(t, "algorithms", table.String())
	compareDocs(t, "decades", decades.String())
}

// many is fewer when the race detector makes everything slow: too few to tell
// by chance which algorithm needs fewer windows, and other tables than those of
// the page.
func many() int {
	if testing.Short() {
		return 100
	}
	return searches
}

// checkRight: more right answers, unless all are right, and fewer windows for
// each of them.
func checkRight(t *testing.T, sit situation, other string, got, than score) {
	t.Helper()
	if got.right < than.right || got.right == than.right && than.right < 1 {
		t.Errorf("%s: %.1f %% right, and of %s %.1f %%; the default is to be better", sit.name, 100*got.right, other, 100*than.right)
	}
	if got.mean/got.right >= than.mean/than.right {
		t.Errorf("%s: %.2f windows per right answer, and %s %.2f; the default is to need fewer", sit.name, got.mean/got.right, other, than.mean/than.right)
	}
}

// checkFewer: fewer windows for any answer, although many of the other's are
// short for being wrong.
func checkFewer(t *testing.T, sit situation, other string, got, than score) {
	t.Helper()
	if testing.Short() {
		return
	}
	if got.mean >= than.mean {
		t.Errorf("%s: %.2f windows, and %s %.2f; the default is to need fewer", sit.name, got.mean, other, than.mean)
	}
}

// checkInterval: it is to hold the truth in 93 of 100 searches at least.
func checkInterval(t *testing.T, sit situation, got score) {
	t.Helper()
	if got.holds < .93 {
		t.Errorf("%s: the interval holds the truth in %.1f %% of the searches, want at least 93 %%", sit.name, 100*got.holds)
	}
}

// TestOptionsTable shows what the options of the default algorithm cost and
// give.
func TestOptionsTable(t *testing.T) {
	n := many()
	var table strings.Builder
	table.WriteString("| windows | default algorithm with | answer within 5 % of the truth | `passed` within 5 % | interval holds the truth | windows, mean | 95 % need at most |\n")
	table.WriteString("|---|---|---|---|---|---|---|\n")
	worse := situation{"20 % fail falsely", alone(.2), true}
	for _, c := range []struct {
		situation
		contestant
	}{
		{situations[1], ours},
		{situations[1], contestant{"a ramp by a factor of 4", algorithm(search.Options{Factor: 4})}},
		{situations[1], contestant{"a ramp by a factor of 2", algorithm(search.Options{Factor: 2})}},
		{situations[1], contestant{"a resolution of 2.5 %", algorithm(search.Options{Resolution: .025})}},
		{situations[1], contestant{"a resolution of 1 %", algorithm(search.Options{Resolution: .01})}},
		{worse, ours},
		{worse, contestant{"an error rate of 20 %", algorithm(search.Options{ErrorRate: .2})}},
	} {
		s := contest(t, c.contestant, c.situation, n)
		fmt.Fprintf(&table, "| %s | %s | %.1f %% | %.1f %% | %.1f %% | %.1f | %d |\n",
			c.situation.name, strings.Replace(c.contestant.name, ours.name, "its defaults", 1), 100*s.right, 100*s.passed, 100*s.holds, s.mean, s.p95)
	}
	t.Log("\n" + table.String())
	compareDocs(t, "options", table.String())
}

const page = "../../docs/capacity-search.md"

// compareDocs holds a table of the page to the simulation.
func compareDocs(t *testing.T, name, table string) {
	t.Helper()
	if testing.Short() {
		return
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- table: "+name+" -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	shown, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table, between %q and %q", page, begin, end)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, shown); diff != "" {
		t.Errorf("%s shows another table than the simulation gives; go test ./internal/search -run Table -update (-simulated +shown):\n%s", page, diff)
	}
}
