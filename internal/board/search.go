package board

import (
	"math/rand/v2"
	"strconv"
)

var (
	findStories = sqlOf(`SELECT s.id, s.title, s.date, u.nickname FROM stories s JOIN users u ON u.id = s.writer
		WHERE s.title >= ? AND s.title < ? ORDER BY s.title, s.id LIMIT ? OFFSET ?`)
	findComments = sqlOf(`SELECT c.story_id, c.id, c.subject, c.date, u.nickname FROM comments c JOIN users u ON u.id = c.writer
		WHERE c.subject >= ? AND c.subject < ? ORDER BY c.subject, c.id LIMIT ? OFFSET ?`)
	findUsers = sqlOf(`SELECT nickname, rating, date FROM users
		WHERE nickname >= ? AND nickname < ? ORDER BY nickname LIMIT ? OFFSET ?`)
)

// search has a form for each kind of search, with a word that finds something.
func search(v *visit) {
	v.begin("Search")
	for _, s := range []struct{ interaction, text, word string }{
		{"SearchInStories", "Titles of stories that begin with", Word(rand.IntN(words))},
		{"SearchInComments", "Subjects of comments that begin with", Word(rand.IntN(words))},
		{"SearchInUsers", "Nicknames that begin with", "user" + strconv.Itoa(1+rand.IntN(99))},
	} {
		v.element("p", s.text)
		v.form(s.interaction, "get")
		v.input("text", "search", s.word)
		v.submit("Search")
		v.link(s.interaction, s.word, "search", s.word)
	}
}

// afterAll is above all texts that begin with the same letters.
const afterAll = "\U0010FFFF"

// found lists what begins with a text; entries lists what a query finds with these
// arguments, and returns how many there were.
func (v *visit) found(interaction string, entries func(args ...any) int) {
	text, page := v.text("search", maxTitle), v.pageNumber()
	v.begin("Found: " + text)
	shown := entries(text, text+afterAll, pageSize, page*pageSize)
	v.turn(interaction, "Nothing begins like that.", shown, page, "search", text)
}

func searchInStories(v *visit) {
	v.found("SearchInStories", func(args ...any) int { return v.titles(false, findStories, args...) })
}

func searchInComments(v *visit) {
	v.found("SearchInComments", func(args ...any) int {
		var story, id, date int64
		var subject, writer string
		return v.each(findComments, []any{&story, &id, &subject, &date, &writer}, func() {
			v.link("ViewComment", subject, reference(false, story, id)...)
			v.byline(writer, date)
		}, args...)
	})
}

func searchInUsers(v *visit) {
	v.found("SearchInUsers", func(args ...any) int {
		var nickname string
		var rating, date int64
		return v.each(findUsers, []any{&nickname, &rating, &date}, func() {
			v.byline(nickname, date)
			v.element("p", "Rating: "+number(rating))
		}, args...)
	})
}
