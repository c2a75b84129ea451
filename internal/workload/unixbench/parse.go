package unixbench

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// set is the report of one number of parallel copies.
type set struct {
	copies  int
	tests   []score
	index   float64
	indexed bool
	partial bool // of the index's tests only some were run
}

// score is one test's result.
type score struct {
	name  string
	unit  string // "lps", "MWIPS", "KBps", "lpm", …
	score float64
}

// The lines of the report, as Run's subroutines print them: summarizeRun,
// logResults and logIndexCat. Spaces are taken as they come, since forks
// differ in the width of columns.
var (
	copiesLine = regexp.MustCompile(`^\d+ CPUs? in system; running (\d+) parallel (?:copy|copies) of tests\s*$`)
	scoreLine  = regexp.MustCompile(`^(\S.*?)\s+([0-9]+(?:\.[0-9]+)?)\s+(\S+)\s+\([0-9.]+ s, \d+ samples?\)\s*$`)
	indexLine  = regexp.MustCompile(`^(System Benchmarks) Index Score( \(Partial Only\))?:?\s+([0-9]+(?:\.[0-9]+)?)\s*$`)
)

// parse reads everything that Run printed. A report without an index, or with
// a set that lacks one, is refused: the index is what UnixBench is run for.
func parse(text string) ([]set, error) {
	var sets []set
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := copiesLine.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil || n < 1 {
				return nil, fmt.Errorf("UnixBench's report: %q is no number of copies", m[1])
			}
			sets = append(sets, set{copies: n})
			continue
		}
		if len(sets) == 0 {
			continue // the banner, and the heartbeat of the passes
		}
		if err := sets[len(sets)-1].add(line); err != nil {
			return nil, err
		}
	}
	return sets, check(sets)
}

// add takes a line that may belong to the set.
func (s *set) add(line string) error {
	if m := scoreLine.FindStringSubmatch(line); m != nil {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return fmt.Errorf("UnixBench's report: score of %s: %w", m[1], err)
		}
		s.tests = append(s.tests, score{name: m[1], unit: m[3], score: v})
		return nil
	}
	if m := indexLine.FindStringSubmatch(line); m != nil {
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return fmt.Errorf("UnixBench's report: index: %w", err)
		}
		s.index, s.indexed, s.partial = v, true, m[2] != ""
	}
	return nil
}

func check(sets []set) error {
	if len(sets) == 0 {
		return errors.New(`UnixBench printed no report: there is no line "… running N parallel copies of tests"; its output says why`)
	}
	seen := map[int]bool{}
	for _, s := range sets {
		switch {
		case seen[s.copies]:
			return fmt.Errorf("UnixBench's report has two sets of %d copies", s.copies)
		case len(s.tests) == 0:
			return fmt.Errorf("UnixBench's report has no test in the set of %d copies", s.copies)
		case !s.indexed || s.index <= 0:
			return fmt.Errorf("UnixBench's report has no index in the set of %d copies: run tests that belong to the index (such as dhry2reg), or leave tests out", s.copies)
		}
		seen[s.copies] = true
	}
	return nil
}

// name is the begin of the metrics of the i-th set: "single" for one copy,
// "multi" for the only set with several, and "copies4" where there are more
// sets of several copies.
func name(sets []set, i int) string {
	if sets[i].copies == 1 {
		return "single"
	}
	for j, other := range sets {
		if j != i && other.copies > 1 {
			return fmt.Sprintf("copies%d", sets[i].copies)
		}
	}
	return "multi"
}

// slug makes a metric's name of a test's: "Shell Scripts (8 concurrent)"
// becomes "shell_scripts_8_concurrent".
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "_")
}
