package corpus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/test/golden"
)

// What the corpus is at least, and at most.
const (
	leastCases      = 200
	mostDifferences = 20
	mostUncovered   = 10
	mostBytes       = 17 << 16 // of all that is recorded
)

// The files of the corpus.
const (
	recordFile      = "testdata/record.txt"
	differencesFile = "testdata/differences.tsv"
	codesFile       = "testdata/codes.tsv"
	uncoveredFile   = "testdata/uncovered.tsv"
)

// cases are all questions.
func cases(t *testing.T) []question {
	t.Helper()
	out := slices.Concat(lossCases(), growthCases(), planCases(), capacityCases(t), tierCases(), variabilityCases(),
		compareCases(), historyCases(), campaignCases(t), pressureCases(t), levelCases(), fitCases(), measuredCases(),
		scaleoutCases(), platformCases())
	slices.SortStableFunc(out, func(a, b question) int { return cmp.Compare(a.name, b.name) })
	for i := range out {
		if i > 0 && out[i].name == out[i-1].name {
			t.Errorf("two cases are called %s", out[i].name)
		}
	}
	return out
}

// TestCorpus: the answers are those of before, but for the differences that are allowed.
func TestCorpus(t *testing.T) {
	codes := readCodes(t)
	all := cases(t)
	if len(all) < leastCases {
		t.Errorf("%d cases, want %d or more", len(all), leastCases)
	}
	got := askAll(t, all, codes)
	if t.Failed() {
		return
	}
	record, differences := readRecord(t), readDifferences(t)
	before := record.facts
	for _, q := range all {
		if before[q.name] == nil && !golden.Updating() {
			t.Errorf("case %s is not recorded: `go test ./test/corpus -update` records it", q.name)
		}
	}
	for name := range before {
		if got[name].facts == nil && !golden.Updating() {
			t.Errorf("case %s is recorded and not there: `go test ./test/corpus -update` forgets it", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if got[name].facts != nil {
			compareCase(t, name, before[name], got[name].facts, differences)
		}
	}
	for _, d := range differences {
		if !d.used {
			t.Errorf("%s: the row %s allows no difference: remove it", differencesFile, d)
		}
	}
	if golden.Updating() && !t.Failed() {
		record.write(t, got)
	}
	checkSize(t)
	checkCovered(t, all, got, codes)
}

// askAll asks all questions, several at a time.
func askAll(t *testing.T, all []question, codes table) map[string]seen {
	t.Helper()
	type result struct {
		seen
		err error
	}
	results := make([]result, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				results[i].seen, results[i].err = answerOf(t.Context(), all[i], codes)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	out, told := make(map[string]seen), make(map[string]bool)
	for i, q := range all {
		for _, text := range results[i].unknown {
			if !told[text] {
				told[text] = true
				t.Errorf("%s: no row of %s matches the %s", q.name, codesFile, text)
			}
		}
		if err := results[i].err; err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
		out[q.name] = results[i].seen
	}
	return out
}

// answerOf is what is recorded of a question.
func answerOf(ctx context.Context, q question, codes table) (seen, error) {
	a, err := q.ask(ctx)
	return flatten(a, err, codes)
}

// compareCase holds the lines of a case against those of before.
func compareCase(t *testing.T, name string, before, now facts, differences []*difference) {
	t.Helper()
	var bad []string
	for _, key := range slices.Sorted(maps.Keys(merged(before, now))) {
		want, got := cmp.Or(before[key], absent), cmp.Or(now[key], absent)
		if same(want, got) || allowed(differences, name, key, want, got) {
			continue
		}
		bad = append(bad, fmt.Sprintf("\t%s\n\t\twant %s\n\t\tgot  %s", key, want, got))
	}
	const most = 20
	if n := len(bad); n > most {
		bad = append(bad[:most], fmt.Sprintf("\tand %d lines more", n-most))
	}
	if len(bad) > 0 {
		t.Errorf("%s differs; if that is intended, add a row to %s:\n%s", name, differencesFile, strings.Join(bad, "\n"))
	}
}

// absent is the value of a line that is not there.
const absent = "-"

func merged(a, b facts) facts {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// difference is a row that allows one.
type difference struct {
	test, key, from, to, reason string
	used                        bool
}

func (d *difference) String() string { return fmt.Sprintf("%q", []string{d.test, d.key, d.from, d.to}) }

// allowed reports whether a row allows a difference.
func allowed(all []*difference, test, key, from, to string) bool {
	for _, d := range all {
		if glob(d.test, test) && glob(d.key, key) && glob(d.from, from) && glob(d.to, to) {
			d.used = true
			return true
		}
	}
	return false
}

// glob reports whether a text is as a pattern, in which * is any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, p)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}

// rows are those of a table of so many columns, without its header.
func rows(t *testing.T, path string, columns int) (out [][]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != columns {
			t.Fatalf("%s:%d: %d columns, want %d divided by tabs", path, i+1, len(cells), columns)
		}
		if i > 0 {
			out = append(out, cells)
		}
	}
	return out
}

func readDifferences(t *testing.T) (out []*difference) {
	t.Helper()
	for _, r := range rows(t, differencesFile, 5) {
		if r[4] == "" {
			t.Errorf("%s: %q has no reason", differencesFile, r)
		}
		out = append(out, &difference{test: r[0], key: r[1], from: r[2], to: r[3], reason: r[4]})
	}
	if len(out) > mostDifferences {
		t.Errorf("%s has %d rows, want at most %d", differencesFile, len(out), mostDifferences)
	}
	return out
}

// checkSize bounds what is committed.
func checkSize(t *testing.T) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		all += info.Size()
	}
	if all > mostBytes {
		t.Errorf("testdata has %d bytes, want at most %d: make cases smaller", all, mostBytes)
	}
}

// TestGlob: patterns of differences.
func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true},
		{"a*c*e", "abcde", true}, {"a*e*c", "abcde", false}, {"/metrics/*/verdict", "/metrics/0/verdict", true},
	} {
		if got := glob(c.pattern, c.text); got != c.want {
			t.Errorf("glob(%q, %q) = %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

// TestAllowed: a row allows what it names, and is used then.
func TestAllowed(t *testing.T) {
	all := []*difference{{test: "plan/*", key: "/nodes", from: "3", to: "*"}, {test: "*", key: "doubt few_nodes*", from: "-", to: "yes"}}
	for _, c := range []struct {
		test, key, from, to string
		want                bool
	}{
		{"plan/a", "/nodes", "3", "4", true}, {"plan/a", "/nodes", "4", "3", false}, {"cdi/a", "/nodes", "3", "4", false},
		{"plan/a", "/node", "3", "4", false}, {"cdi/a", "doubt few_nodes warning", "-", "yes", true},
	} {
		for _, d := range all {
			d.used = false
		}
		got := allowed(all, c.test, c.key, c.from, c.to)
		if got != c.want || (all[0].used || all[1].used) != c.want {
			t.Errorf("%v: %v, used %v and %v; want %v", c, got, all[0].used, all[1].used, c.want)
		}
	}
}

// TestSame: numbers may differ by what arithmetic in another order makes of them.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0000000000001", true}, {"1", "1.00000000001", false}, {"0", "1e-13", true}, {"0", "1e-11", false},
		{"null", "null", true}, {"null", "0", false}, {"true", "false", false}, {"explains=2", "explains=2.1", false},
		{"n=2 first=1 last=-1 sum=0 squares=2", "n=2 first=1 last=-1 sum=1.5e-12 squares=2", true},
		{"n=2 first=1 last=-1 sum=0 squares=2", "n=2 first=1 last=-1 sum=1e-9 squares=2", false},
		{"n=4 all=2", "n=4 first=2 last=2 sum=8.000000000001 squares=16", true}, {"n=4 all=2", "n=4 all=2.1", false},
		{"n=4 each=2", "n=4 first=2 last=2 sum=8.000000000001 order=20", true}, {"n=4 each=2",
			"n=4 first=2 last=2 sum=8 order=21", false},
		{"[ 1 2 ]", "[ 1 2.0000000000001 ]", true}, {"[ 1 2 ]", "[ 1 2 3 ]", false}, {"[ ]", "[ ]", true},
		{`"named"×3 n=1`, `"named"×2 n=1`, false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("same(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
