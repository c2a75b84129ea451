package board

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Sizes say what a database is filled with. The same sizes with the same seed
// give the same rows, in every database.
type Sizes struct {
	Seed        uint64 `json:"seed"`
	Categories  int    `json:"categories"`
	Users       int    `json:"users"`
	Authors     int    `json:"authors"` // the first of the users
	Stories     int    `json:"stories"`
	OldStories  int    `json:"old_stories"`
	Submissions int    `json:"submissions"`
	Comments    int    `json:"comments"`     // of a story, in the mean
	StorySize   int    `json:"story_size"`   // bytes, in the mean
	CommentSize int    `json:"comment_size"` // bytes, in the mean
}

// DefaultSizes is a small board, which is loaded in seconds.
func DefaultSizes() Sizes {
	return Sizes{Seed: 1, Categories: 20, Users: 10_000, Authors: 50, Stories: 2000, OldStories: 10_000, Submissions: 1000,
		Comments: 10, StorySize: 1000, CommentSize: 300}
}

// maxRows bounds each table.
const maxRows = 100_000_000

func (s Sizes) check() error {
	for _, size := range []struct {
		name     string
		n, least int
	}{
		{"categories", s.Categories, 1}, {"users", s.Users, 1}, {"authors", s.Authors, 0}, {"stories", s.Stories, 1},
		{"old-stories", s.OldStories, 0}, {"submissions", s.Submissions, 0}, {"comments", s.Comments, 0},
		{"story-size", s.StorySize, 1}, {"comment-size", s.CommentSize, 1},
	} {
		if size.n < size.least || size.n > maxRows {
			return model.Usagef("%s is from %d to %d, not %d", size.name, size.least, maxRows, size.n)
		}
	}
	if s.Authors > s.Users {
		return model.Usagef("authors are users, and there are only %d of those", s.Users)
	}
	if most := maxBody * 2 / 3; s.StorySize > most || s.CommentSize > most {
		return model.Usagef("texts have at most %d bytes in the mean", most)
	}
	return nil
}

// words is how many words the board's texts are made of.
const words = 1000

// Word is one of them, 0 <= i < 1000: six letters.
func Word(i int) string {
	const syllables = "bacedifogumalenirosu"
	at := func(n int) string { n = n % 10 * 2; return syllables[n : n+2] }
	return at(i/100) + at(i/10) + at(i)
}

// writing makes texts.
type writing struct{ *rand.Rand }

// of is the source of one row, or of all rows of a table: streams of different
// tables and numbers have nothing in common.
func (s Sizes) of(stream string, n int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(stream)) // it takes all
	return rand.New(rand.NewPCG(s.Seed, h.Sum64()+uint64(n)))
}

// text is about so many bytes: half to one and a half times as many.
func (w writing) text(mean int) string {
	size := mean/2 + w.IntN(mean+1)
	var b strings.Builder
	for b.Len() < size {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(Word(w.IntN(words)))
	}
	return b.String()
}

// Dates of loaded rows: up to this moment, which is past, so that what users
// write is newer.
const lastDate = int64(1_767_225_600_000) // 2026-01-01 00:00 UTC, Unix milliseconds

const minute = int64(60_000)

// rows are the rows of a table, and how many there are.
func (s Sizes) rows(table string) (iter.Seq[[]any], int) {
	switch table {
	case "categories":
		return s.categories, s.Categories
	case "users":
		return s.users, s.Users + 1
	case "old_stories":
		return s.stories(table, 1, s.OldStories, 100*24*60*minute), s.OldStories
	case "stories":
		return s.stories(table, 1+s.OldStories, s.Stories, 0), s.Stories
	case "submissions":
		return s.stories(table, 1+s.OldStories+s.Stories, s.Submissions, 0), s.Submissions
	case "old_comments":
		return s.comments(1, s.OldStories)
	case "comments":
		return s.comments(1+s.OldStories, s.Stories)
	}
	return func(func([]any) bool) {}, 0 // moderator_log
}

func (s Sizes) categories(yield func([]any) bool) {
	for i := range s.Categories {
		if !yield([]any{int64(i + 1), "Category " + strconv.Itoa(i+1)}) {
			return
		}
	}
}

// users begin with the anonymous one.
func (s Sizes) users(yield func([]any) bool) {
	w := writing{s.of("users", 0)}
	if !yield([]any{int64(anonymous), "anonymous", "", "", "", "", int64(reader), int64(0), lastDate}) {
		return
	}
	for i := 1; i <= s.Users; i++ {
		n := strconv.Itoa(i)
		access := int64(reader)
		if i <= s.Authors {
			access = author
		}
		if !yield([]any{int64(i), "user" + n, "password" + n, Word(w.IntN(words)), Word(w.IntN(words)), "user" + n + "@board.example",
			access, int64(0), lastDate - w.Int64N(1_000_000)*minute}) {
			return
		}
	}
}

// stories are n, from the number first on; the last one is as old as age (ms).
func (s Sizes) stories(stream string, first, n int, age int64) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		w := writing{s.of(stream, 0)}
		for i := range n {
			date := lastDate - age - int64(n-i)*minute
			if !yield([]any{int64(first + i), w.text(40), w.text(s.StorySize), date, 1 + w.Int64N(int64(s.Users)), 1 + w.Int64N(int64(s.Categories))}) {
				return
			}
		}
	}
}

// commentsOf is how many comments a story has: 0 to twice the mean, evenly.
func (s Sizes) commentsOf(story int) int { return s.of("comments", story).IntN(2*s.Comments + 1) }

// comments are those of n stories from the number first on. Each has its number
// within its story.
func (s Sizes) comments(first, n int) (iter.Seq[[]any], int) {
	total := 0
	for story := first; story < first+n; story++ {
		total += s.commentsOf(story)
	}
	return func(yield func([]any) bool) {
		w := writing{s.of(fmt.Sprint("comments", first), 0)}
		for story := first; story < first+n; story++ {
			if !s.thread(w, story, yield) {
				return
			}
		}
	}, total
}

// thread is the comments of one story. Three in ten answer an earlier one.
func (s Sizes) thread(w writing, story int, yield func([]any) bool) bool {
	parents := make([]int64, s.commentsOf(story))
	childs := make([]int64, len(parents)+1)
	for i := range parents {
		if i > 0 && w.IntN(10) < 3 {
			parents[i] = 1 + w.Int64N(int64(i))
		}
		childs[parents[i]]++
	}
	for i, parent := range parents {
		if !yield([]any{int64(i + 1), int64(story), parent, childs[i+1], worst + w.Int64N(best-worst+1), w.Int64N(int64(s.Users) + 1),
			lastDate - w.Int64N(10_000)*minute, w.text(20), w.text(s.CommentSize)}) {
			return false
		}
	}
	return true
}
