package board

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

// TestRows: the same sizes give the same rows, in every version: otherwise
// databases that were filled before would no longer be as they were loaded.
func TestRows(t *testing.T) {
	s := DefaultSizes()
	s.Users, s.Stories, s.OldStories, s.Submissions = 100, 20, 30, 10
	got := digest(s)
	if got != "cdd762a22a2f877d" {
		t.Errorf("the rows are others than they were (%s)", got)
	}
	s.Seed++
	if digest(s) == got {
		t.Error("another seed gives the same rows")
	}
}

func digest(s Sizes) string {
	sum := fnv.New64a()
	for _, t := range tables() {
		rows, total := s.rows(t.name)
		n := 0
		for row := range rows {
			n++
			_, _ = fmt.Fprintln(sum, row...) // a hash takes all
		}
		if n != total {
			return fmt.Sprintf("%s has %d rows, not %d", t.name, n, total)
		}
	}
	return fmt.Sprintf("%x", sum.Sum64())
}

// TestThreadOfComments: parents are earlier comments of the same story, and know
// how many answers they have.
func TestThreadOfComments(t *testing.T) {
	s := DefaultSizes()
	rows, _ := s.comments(1, 200)
	childs, answers := map[[2]int64]int64{}, map[[2]int64]int64{}
	for row := range rows {
		id, story, parent := row[0].(int64), row[1].(int64), row[2].(int64)
		if parent >= id {
			t.Fatalf("comment %d of story %d answers %d", id, story, parent)
		}
		childs[[2]int64{story, id}] = row[3].(int64)
		answers[[2]int64{story, parent}]++
	}
	for key, n := range childs {
		if n != answers[key] {
			t.Errorf("comment %v counts %d answers, and has %d", key, n, answers[key])
		}
	}
}

// TestIDs: numbers grow, and are above those of loaded rows.
func TestIDs(t *testing.T) {
	var x ids
	last := int64(1) << 50 // above those of loaded rows
	for range 10_000 {
		id := x.next(rand.Int64())
		if id <= last {
			t.Fatalf("number %d after %d", id, last)
		}
		last = id
	}
}

func TestHosts(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://u:p@h1:1,h2:2/db?tls=true": "[mysql://u:p@h1:1/db?tls=true mysql://u:p@h2:2/db?tls=true]",
		"postgres://h1,h2/db":               "[postgres://h1/db postgres://h2/db]",
		"postgres:///db?host=/run":          "[postgres:///db?host=/run]",
		"mysql://u:a@b,c@h1,h2":             "[mysql://u:a@b,c@h1 mysql://u:a@b,c@h2]",
	} {
		got, err := hosts(url)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("hosts(%q) = %v, %v, want %s", url, got, err, want)
		}
	}
}
