package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string, now time.Time) *journal {
	t.Helper()
	j, err := openJournal(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.close() }) // a second close of the same file is harmless
	return j
}

func sampleEntry(n int) entry {
	a := wire.Attempt{Task: "01ARZ3NDEKTSV4RRFFQ69G5FAV/0001/0002", Attempt: n}
	return entry{Attempt: a, Run: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Node: "n", Started: noon.Add(time.Duration(n) * time.Second)}
}

// TestJournalSurvives: what was put is there after a restart, in order, until
// it is delivered; delivered attempts are over, and so are those before them.
func TestJournalSurvives(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node[1]") // a file pattern's letters in a name mean nothing
	j := open(t, dir, noon)
	for _, n := range []int{2, 1, 3} {
		if err := j.put(sampleEntry(n)); err != nil {
			t.Fatal(err)
		}
	}
	done := sampleEntry(2)
	done.Result = &model.Result{Outcome: model.OutcomeOK}
	if err := j.put(done); err != nil {
		t.Fatal(err)
	}
	if err := j.markDelivered(sampleEntry(3).Attempt, noon); err != nil {
		t.Fatal(err)
	}

	j = open(t, dir, noon)
	got, damaged, err := j.pending()
	if err != nil || len(damaged) > 0 {
		t.Fatalf("pending: damaged %v, %v", damaged, err)
	}
	if diff := cmp.Diff([]entry{sampleEntry(1), done}, got); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	for n, want := range map[int]bool{1: true, 2: true, 3: true, 4: false} {
		if got := j.isOver(sampleEntry(n).Attempt); got != want {
			t.Errorf("isOver(%d) = %v, want %v", n, got, want)
		}
	}
}

// TestJournalForgets what can no longer be replayed, for its assignments have
// expired.
func TestJournalForgets(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir, noon).markDelivered(sampleEntry(1).Attempt, noon); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		later time.Duration
		want  bool
	}{{retention - time.Second, true}, {retention, false}} {
		if got := open(t, dir, noon.Add(c.later)).isOver(sampleEntry(1).Attempt); got != c.want {
			t.Errorf("remembered after %s = %v, want %v", c.later, got, c.want)
		}
	}
}

// TestJournalDamaged: files torn by a full disk are reported, not fatal.
func TestJournalDamaged(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, noon)
	if err := j.put(sampleEntry(1)); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "tasks", "torn.json")
	if err := os.WriteFile(torn, []byte(`{"attempt":{"ta`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(j.deliveredPath(), []byte("17 1 a\ngarbage\n99"), 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, time.Unix(18, 0))
	got, damaged, err := j.pending()
	if err != nil || len(got) != 1 || len(damaged) != 1 || damaged[0] != torn {
		t.Errorf("pending = %v, damaged %v, %v; want one entry and %s", got, damaged, err, torn)
	}
	if !j.isOver(wire.Attempt{Task: "a", Attempt: 1}) || len(j.delivered) != 1 {
		t.Errorf("delivered = %v, want only the whole line", j.delivered)
	}
}

func TestOrderBook(t *testing.T) {
	start := func(attempt int) wire.Order {
		return wire.Order{Kind: wire.OrderStart, Step: "s", Attempt: attempt, At: noon}
	}
	cancel := func(attempt int) wire.Order {
		return wire.Order{Kind: wire.OrderCancel, Step: "s", Attempt: attempt}
	}
	other := wire.Order{Kind: wire.OrderCancel, Step: "other", Attempt: 9}
	for _, c := range []struct {
		name          string
		before, after []wire.Order
		want          int // orders that reach attempt 2 of step s
	}{
		{"its start", nil, []wire.Order{start(2)}, 1},
		{"starts of other attempts", nil, []wire.Order{start(1), start(3)}, 0},
		{"a cancel of it and all before", nil, []wire.Order{cancel(2), cancel(5)}, 2},
		{"a cancel of the attempt before", nil, []wire.Order{cancel(1)}, 0},
		{"another step", []wire.Order{other}, []wire.Order{other}, 0},
		{"cancelled before it began", []wire.Order{cancel(2)}, nil, 1},
		{"a start before it began is asked for again", []wire.Order{start(2)}, nil, 0},
		{"more than fit", nil, []wire.Order{cancel(2), cancel(2), cancel(2), cancel(2), cancel(2), cancel(2), cancel(2), cancel(2), cancel(2)}, 8},
	} {
		var b orderRouter
		for _, o := range c.before {
			b.deliver(o)
		}
		got, end := b.follow("s", 2)
		for _, o := range c.after {
			b.deliver(o)
		}
		if len(got) != c.want {
			t.Errorf("%s: %d orders, want %d", c.name, len(got), c.want)
		}
		end()
		b.deliver(start(2)) // has no follower; must not block
	}
}
