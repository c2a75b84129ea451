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
	addStory       = sqlOf("INSERT INTO stories (id, title, body, date, writer, category) VALUES (?, ?, ?, ?, ?, ?)")
)

func authorLogin(v *visit) error {
	v.page.begin("Authors")
	v.page.form("AuthorTasks", "post")
	v.page.who()
	v.page.submit("Log in")
	v.page.end()
	return nil
}

func authorTasks(v *visit) error {
	id, access, err := v.login()
	if err != nil {
		return err
	}
	if access != author {
		return &fault{http.StatusForbidden, "you are no author"}
	}
	v.page.begin("Tasks of authors")
	v.page.link("ReviewStories", "Review stories", "author", number(id))
	v.page.end()
	return nil
}

// author is the author that the form names. There is no session, and no secret in
// links: this is an application that is measured, not one that keeps anything.
func (v *visit) author() (int64, error) {
	id, err := v.number("author")
	if err != nil {
		return 0, err
	}
	var access int64
	if err := v.db.one(accessOf, "there is no such author", []any{&access}, id); err != nil {
		return 0, err
	}
	if access != author {
		return 0, &fault{http.StatusForbidden, "this user is no author"}
	}
	return id, nil
}

func reviewStories(v *visit) error {
	id, err := v.author()
	if err != nil {
		return err
	}
	v.page.begin("Review stories")
	shown, err := v.submissions(id, rand.IntN(reviewFrom))
	if err == nil && shown == 0 {
		shown, err = v.submissions(id, 0)
	}
	if shown == 0 {
		v.page.element("p", "No story waits for a review.")
	}
	v.page.link("ReviewStories", "Other stories", "author", number(id))
	v.page.end()
	return err
}

func (v *visit) submissions(authorID int64, from int) (shown int, err error) {
	err = v.db.each(submitted, func(scan func(...any) error) error {
		var id, date int64
		var title, body, writer string
		if err := scan(&id, &title, &body, &date, &writer); err != nil {
			return err
		}
		shown++
		v.page.element("h2", title)
		v.page.byline(writer, date)
		v.page.element("p", body)
		v.decide("AcceptStory", "Accept", authorID, id)
		v.decide("RejectStory", "Reject", authorID, id)
		return nil
	}, reviewed, from)
	return shown, err
}

// decide adds a button.
func (v *visit) decide(interaction, text string, authorID, submission int64) {
	v.page.form(interaction, "post")
	v.page.input("hidden", "author", number(authorID))
	v.page.input("hidden", "submission", number(submission))
	v.page.submit(text)
}

func acceptStory(v *visit) error { return v.decision("Accepted", true) }

func rejectStory(v *visit) error { return v.decision("Rejected", false) }

// decision decides on a submission. That another author was faster is no fault
// of the server: two were shown the same story.
func (v *visit) decision(title string, accept bool) error {
	id, err := v.number("submission")
	if err != nil {
		return err
	}
	authorID, err := v.author()
	if err != nil {
		return err
	}
	first := false
	if err := v.transaction(func() (err error) { first, err = v.settle(id, accept); return err }); err != nil {
		return err
	}
	if !first {
		title = "Decided already"
	}
	v.page.begin(title)
	if first && accept {
		v.page.link("ViewStory", "The story", reference(false, id, 0)...)
	}
	if !first {
		v.page.element("p", "Another author has decided on this story before, or there is none.")
	}
	v.page.link("ReviewStories", "Other stories", "author", number(authorID))
	v.page.end()
	return nil
}

// settle takes a submission away, and makes it a story, with the same number, if it
// is accepted. Reading it locks it: another author waits, and then finds none.
// (Spider does not say how many rows were deleted.)
func (v *visit) settle(id int64, accept bool) (first bool, err error) {
	var title, body string
	var date, writer, category int64
	err = v.db.each(oneSubmission, func(scan func(...any) error) error {
		first = true
		return scan(&title, &body, &date, &writer, &category)
	}, id)
	if err != nil || !first {
		return false, err
	}
	_, err = v.db.exec(dropSubmission, id)
	if err == nil && accept {
		_, err = v.db.exec(addStory, id, title, body, now(), writer, category)
	}
	return true, err
}
