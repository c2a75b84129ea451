package corpus

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/golden"
)

// record is what record.txt says: facts by case, and which case each is told by, "" for
// one that is told in full.
type record struct {
	facts map[string]facts
	like  map[string]string
}

// The file has a line "= case" for each case, or "= case<TAB>like another" if only what
// differs from another follows. A line that ends with / is the beginning of the keys of
// those below it, which are keys and values.
const (
	caseMark = "= "
	likeMark = "like "
)

// readRecord is what was recorded; nothing where there is no record yet.
func readRecord(t *testing.T) record {
	t.Helper()
	data, err := os.ReadFile(recordFile)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || !golden.Updating()) {
		t.Fatal(err)
	}
	r, err := parseRecord(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parseRecord(text string) (record, error) {
	r := record{facts: map[string]facts{}, like: map[string]string{}}
	var now facts
	dir := ""
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name, isCase := strings.CutPrefix(key, caseMark); isCase {
			now, dir = facts{}, ""
			if other := strings.TrimPrefix(value, likeMark); ok {
				if r.facts[other] == nil {
					return r, errors.New(recordFile + ": " + name + " is like " + other + ", which does not come before it")
				}
				now, r.like[name] = maps.Clone(r.facts[other]), other
			}
			r.facts[name] = now
			continue
		}
		switch {
		case now == nil:
			return r, errors.New(recordFile + " does not begin with a case")
		case !ok:
			dir = key
		case value == absent:
			delete(now, dir+key)
		default:
			now[dir+key] = value
		}
	}
	return r, nil
}

// write records new cases and forgets those that are gone.
func (r record) write(t *testing.T, got map[string]seen) {
	t.Helper()
	all := make(map[string]facts)
	for name, s := range got {
		if all[name] = r.facts[name]; all[name] == nil {
			all[name] = s.facts
		}
	}
	if err := os.WriteFile(recordFile, []byte(formatRecord(all, r.like)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// formatRecord tells each case by the one before it that leaves the least to tell, or by
// the one it was told by.
func formatRecord(all map[string]facts, like map[string]string) string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		study, _, _ := strings.Cut(name, "/")
		best, other := formatFacts(all[name]), ""
		for _, before := range names[:i] {
			if !strings.HasPrefix(before, study+"/") || like[name] != "" && all[like[name]] != nil && before != like[name] {
				continue
			}
			if text := formatFacts(differing(all[before], all[name])); len(text)+len(before) < len(best) {
				best, other = text, before
			}
		}
		b.WriteString(caseMark + name)
		if other != "" {
			b.WriteString("\t" + likeMark + other)
		}
		b.WriteString("\n" + best)
	}
	return b.String()
}

// differing are the facts that make those of a those of b.
func differing(a, b facts) facts {
	out := make(facts)
	for key, value := range b {
		if a[key] != value {
			out[key] = value
		}
	}
	for key := range a {
		if _, ok := b[key]; !ok {
			out[key] = absent
		}
	}
	return out
}

func formatFacts(f facts) string {
	var b strings.Builder
	dir := ""
	for _, key := range slices.SortedFunc(maps.Keys(f), func(x, y string) int {
		dirX, nameX := cutKey(x)
		dirY, nameY := cutKey(y)
		return cmp.Or(cmp.Compare(dirX, dirY), cmp.Compare(nameX, nameY))
	}) {
		of, name := cutKey(key)
		if of != dir {
			dir = of
			b.WriteString(dir + "\n")
		}
		b.WriteString(name + "\t" + f[key] + "\n")
	}
	return b.String()
}

// cutKey divides a path before its last part.
func cutKey(key string) (dir, name string) {
	if !strings.HasPrefix(key, "/") {
		return "", key
	}
	i := strings.LastIndexByte(key, '/') + 1
	return key[:i], key[i:]
}

// TestRecord: what is written is read again, and a case keeps the one it is told by.
func TestRecord(t *testing.T) {
	all := map[string]facts{
		"s/a": {"exit": "0", "/x/y": "1", "/x/z": "[ 1 2 ]", "doubt a warning": "yes"},
		"s/b": {"exit": "0", "/x/y": "2", "doubt a warning": "yes"},
		"t/c": {"exit": "0"},
	}
	text := formatRecord(all, nil)
	const want = "= s/a\ndoubt a warning\tyes\nexit\t0\n/x/\ny\t1\nz\t[ 1 2 ]\n= s/b\tlike s/a\n/x/\ny\t2\nz\t-\n= t/c\nexit\t0\n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	r, err := parseRecord(text)
	if err != nil || !maps.EqualFunc(r.facts, all, maps.Equal[facts, facts]) || r.like["s/b"] != "s/a" {
		t.Errorf("read again: %v, %v", r, err)
	}
	all["s/aa"] = all["s/b"]
	if again := formatRecord(all, r.like); !strings.Contains(again, "= s/b\tlike s/a\n") {
		t.Errorf("told by another:\n%s", again)
	}
	for _, bad := range []string{"exit\t0\n", "= s/b\tlike s/a\n"} {
		if _, err := parseRecord(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
