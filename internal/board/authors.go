package board

import (
	"math/rand/v2"
	"net/http"
)

// reviewed is how many submissions a page of reviews has, somewhere among the
// first few hundred: authors who all saw the same would decide the same.
const (
	reviewed   = 10
	reviewFrom = 200
)

var (
	accessOf  = sqlOf("SELECT access FROM users WHERE id = ?")
	submitted = sqlOf(`SELECT s.id, s.title, s.body, s.date, u.nickname FROM submissions s JOIN users u ON u.id = s.writer
		ORDER BY s.id LIMIT ? OFFSET ?`)
	oneSubmission  = sqlOf("SELECT title, body, date, writer, category FROM submissions WHERE id = ? FOR UPDATE")
	dropSubmission = sqlOf("DELETE FROM submissions WHERE id = ?")
	addStory       = addTo("stories")
)

func authorLogin(v *visit) {
	v.begin("Authors")
	v.form("AuthorTasks", "post")
	v.who()
	v.submit("Log in")
}

func authorTasks(v *visit) {
	id, access := v.login()
	if access != author {
		v.fail(http.StatusForbidden, "you are no author")
	}
	v.begin("Tasks of authors")
	v.link("ReviewStories", "Review stories", "author", number(id))
}

// author is the author that the form names. There is no session, and no secret in
// links: this is an application that is measured, not one that keeps anything.
func (v *visit) author() int64 {
	id, access := v.number("author"), int64(0)
	v.one(accessOf, "there is no such author", []any{&access}, id)
	if access != author {
		v.fail(http.StatusForbidden, "this user is no author")
	}
	return id
}

func reviewStories(v *visit) {
	id := v.author()
	v.begin("Review stories")
	if v.submissions(id, rand.IntN(reviewFrom)) == 0 && v.submissions(id, 0) == 0 {
		v.element("p", "No story waits for a review.")
	}
	v.link("ReviewStories", "Other stories", "author", number(id))
}

// submissions shows stories from a place on, each with a button for each decision.
func (v *visit) submissions(authorID int64, from int) (shown int) {
	return v.stories(submitted, func(id int64) {
		for _, text := range []string{"Accept", "Reject"} {
			v.form(text+"Story", "post")
			v.input("hidden", "author", number(authorID))
			v.input("hidden", "submission", number(id))
			v.submit(text)
		}
	}, reviewed, from)
}

func acceptStory(v *visit) { v.decision("Accepted", true) }

func rejectStory(v *visit) { v.decision("Rejected", false) }

// decision decides on a submission. That another author was faster is no fault
// of the server: two were shown the same story.
func (v *visit) decision(title string, accept bool) {
	id := v.number("submission")
	authorID := v.author()
	first := false
	v.transaction(func() { first = v.settle(id, accept) })
	if !first {
		title = "Decided already"
	}
	v.begin(title)
	switch {
	case !first:
		v.element("p", "Another author has decided on this story before, or there is none.")
	case accept:
		v.link("ViewStory", "The story", reference(false, id, 0)...)
	}
	v.link("ReviewStories", "Other stories", "author", number(authorID))
}

// settle takes a submission away, and makes it a story, with the same number, if it
// is accepted. Reading it locks it: another author waits, and then finds none.
// (Spider does not say how many rows were deleted.)
func (v *visit) settle(id int64, accept bool) (first bool) {
	var title, body string
	var date, writer, category int64
	if v.each(oneSubmission, []any{&title, &body, &date, &writer, &category}, nil, id) == 0 {
		return false
	}
	v.exec(dropSubmission, id)
	if accept {
		v.exec(addStory, id, title, body, now(), writer, category)
	}
	return true
}
