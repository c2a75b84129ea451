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

// searches are where one can search, with a word that finds something.
var searches = []struct{ interaction, text string }{
	{"SearchInStories", "Titles of stories that begin with"},
	{"SearchInComments", "Subjects of comments that begin with"},
	{"SearchInUsers", "Nicknames that begin with"},
}

func search(v *visit) error {
	v.page.begin("Search")
	for i, s := range searches {
		word := Word(rand.IntN(words))
		if i == 2 {
			word = "user" + strconv.Itoa(1+rand.IntN(99))
		}
		v.page.element("p", s.text)
		v.page.form(s.interaction, "get")
		v.page.input("text", "search", word)
		v.page.submit("Search")
		v.page.link(s.interaction, word, "search", word)
	}
	v.page.end()
	return nil
}

// afterAll is above all texts that begin with the same letters.
const afterAll = "\U0010FFFF"

// found shows a list of what was found; row scans and shows one.
func (v *visit) found(interaction string, q query, row func(scan func(...any) error) error) error {
	text, err := v.text("search", maxTitle)
	if err != nil {
		return err
	}
	page, err := v.pageNumber()
	if err != nil {
		return err
	}
	v.page.begin("Found: " + text)
	shown := 0
	err = v.db.each(q, func(scan func(...any) error) error {
		shown++
		return row(scan)
	}, text, text+afterAll, pageSize, page*pageSize)
	if shown == 0 {
		v.page.element("p", "Nothing begins like that.")
	}
	v.turn(interaction, shown, page, "search", text)
	v.page.end()
	return err
}

func searchInStories(v *visit) error {
	return v.found("SearchInStories", findStories, func(scan func(...any) error) error {
		var id, date int64
		var title, writer string
		err := scan(&id, &title, &date, &writer)
		v.page.link("ViewStory", title, reference(false, id, 0)...)
		v.page.byline(writer, date)
		return err
	})
}

func searchInComments(v *visit) error {
	return v.found("SearchInComments", findComments, func(scan func(...any) error) error {
		var story, id, date int64
		var subject, writer string
		err := scan(&story, &id, &subject, &date, &writer)
		v.page.link("ViewComment", subject, reference(false, story, id)...)
		v.page.byline(writer, date)
		return err
	})
}

func searchInUsers(v *visit) error {
	return v.found("SearchInUsers", findUsers, func(scan func(...any) error) error {
		var nickname string
		var rating, date int64
		err := scan(&nickname, &rating, &date)
		v.page.byline(nickname, date)
		v.page.element("p", "Rating: "+number(rating))
		return err
	})
}
