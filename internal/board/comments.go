package board

import (
	"net/http"
	"strconv"
)

// Ratings of comments.
const (
	worst = -1
	best  = 5
)

var (
	oneComment = sqlOfEither(`SELECT c.subject, c.body, c.date, c.rating, c.childs, c.writer, u.nickname FROM {comments} c
		JOIN users u ON u.id = c.writer WHERE c.story_id = ? AND c.id = ?`)
	replies = sqlOfEither(`SELECT c.id, c.subject, c.body, c.date, c.rating, c.childs, u.nickname FROM {comments} c
		JOIN users u ON u.id = c.writer WHERE c.story_id = ? AND c.parent = ? ORDER BY c.id LIMIT 50`)
	addComment = sqlOfEither(`INSERT INTO {comments} (id, story_id, parent, childs, rating, writer, date, subject, body)
		VALUES (?, ?, ?, 0, 0, ?, ?, ?, ?)`)
	countReply  = sqlOfEither("UPDATE {comments} SET childs = childs + 1 WHERE story_id = ? AND id = ?")
	rateComment = sqlOfEither("UPDATE {comments} SET rating = rating + ? WHERE story_id = ? AND id = ? AND rating + ? BETWEEN ? AND ?")
	rateUser    = sqlOf("UPDATE users SET rating = rating + ? WHERE id = ?")
	logRating   = sqlOf("INSERT INTO moderator_log (id, moderator, story_id, comment_id, rating, date) VALUES (?, ?, ?, ?, ?, ?)")
	titleOf     = sqlOfEither("SELECT title FROM {stories} WHERE id = ?")
)

// comments lists comments of a story.
func (v *visit) comments(story int64, q query, args ...any) error {
	return v.db.each(q, func(scan func(...any) error) error {
		var c comment
		if err := scan(&c.id, &c.subject, &c.body, &c.date, &c.rating, &c.childs, &c.nickname); err != nil {
			return err
		}
		v.page.element("h3", c.subject)
		c.show(v.page)
		ref := reference(v.old(), story, c.id)
		v.page.link("ViewComment", strconv.FormatInt(c.childs, 10)+" replies", ref...)
		v.page.link("ModerateComment", "Moderate", ref...)
		return nil
	}, args...)
}

// comment is one as it is shown.
type comment struct {
	id, date, rating, childs, writer int64
	subject, body, nickname          string
}

func (c *comment) show(p *page) {
	p.byline(c.nickname, c.date)
	p.element("p", "Rating: "+number(c.rating))
	p.element("p", c.body)
}

// load reads a comment, which the form names.
func (v *visit) load() (story int64, c comment, err error) {
	n, err := v.numbers("story", "comment")
	if err != nil {
		return 0, c, err
	}
	c.id = n[1]
	err = v.db.one(oneComment.of(v.old()), "there is no such comment",
		[]any{&c.subject, &c.body, &c.date, &c.rating, &c.childs, &c.writer, &c.nickname}, n[0], n[1])
	return n[0], c, err
}

func viewComment(v *visit) error {
	story, c, err := v.load()
	if err != nil {
		return err
	}
	v.page.begin(c.subject)
	c.show(v.page)
	v.page.link("ViewStory", "The story", reference(v.old(), story, 0)...)
	v.page.link("PostComment", "Reply", reference(v.old(), story, c.id)...)
	v.page.link("ModerateComment", "Moderate", reference(v.old(), story, c.id)...)
	err = v.comments(story, replies.of(v.old()), story, c.id)
	v.page.end()
	return err
}

// hidden adds what a form refers to.
func (v *visit) hidden(story, comment int64) {
	ref := reference(v.old(), story, comment)
	for i := 0; i < len(ref); i += 2 {
		v.page.input("hidden", ref[i], ref[i+1])
	}
}

// parent is the comment that is replied to; 0 for the story itself.
func (v *visit) parent() (int64, error) {
	if v.form.Get("comment") == "" {
		return 0, nil
	}
	return v.number("comment")
}

func postComment(v *visit) error {
	story, err := v.number("story")
	if err != nil {
		return err
	}
	parent, err := v.parent()
	if err != nil {
		return err
	}
	var title string
	if err := v.db.one(titleOf.of(v.old()), "there is no such story", []any{&title}, story); err != nil {
		return err
	}
	v.page.begin("Comment on " + title)
	v.page.form("StoreComment", "post")
	v.hidden(story, parent)
	v.page.who()
	v.page.input("text", "subject", "")
	v.page.area("body")
	v.page.submit("Post")
	v.page.end()
	return nil
}

func storeComment(v *visit) error {
	story, err := v.number("story")
	if err != nil {
		return err
	}
	c := comment{}
	parent, err := v.parent()
	if err == nil {
		c.subject, err = v.text("subject", maxTitle)
	}
	if err == nil {
		c.body, err = v.text("body", maxBody)
	}
	if err == nil {
		c.writer, err = v.user()
	}
	if err != nil {
		return err
	}
	var title string
	if err := v.db.one(titleOf.of(v.old()), "there is no such story", []any{&title}, story); err != nil {
		return err
	}
	c.id = v.newID()
	if err := v.transaction(func() error { return v.reply(story, parent, &c) }); err != nil {
		return err
	}
	v.page.begin("Thank you")
	v.page.link("ViewComment", "Your comment", reference(v.old(), story, c.id)...)
	v.page.link("ViewStory", "The story", reference(v.old(), story, 0)...)
	v.page.end()
	return nil
}

// reply stores a comment, and counts it with its parent.
func (v *visit) reply(story, parent int64, c *comment) error {
	if parent > 0 {
		switch n, err := v.db.exec(countReply.of(v.old()), story, parent); {
		case err != nil:
			return err
		case n == 0:
			return &fault{http.StatusNotFound, "there is no such comment to reply to"}
		}
	}
	_, err := v.db.exec(addComment.of(v.old()), c.id, story, parent, c.writer, now(), c.subject, c.body)
	return err
}

func moderateComment(v *visit) error {
	story, c, err := v.load()
	if err != nil {
		return err
	}
	v.page.begin("Moderate")
	v.page.element("h2", c.subject)
	c.show(v.page)
	v.page.form("StoreModeratorLog", "post")
	v.hidden(story, c.id)
	v.page.who()
	v.page.choice("rating", []string{"1", "0", "-1"}, []string{"up", "as it is", "down"})
	v.page.submit("Rate")
	v.page.end()
	return nil
}

func storeModeratorLog(v *visit) error {
	rating, err := strconv.Atoi(v.form.Get("rating"))
	if err != nil || rating < -1 || rating > 1 {
		return &fault{http.StatusBadRequest, `"rating" must be -1, 0 or 1`}
	}
	moderator, err := v.user()
	if err != nil {
		return err
	}
	story, c, err := v.load()
	if err != nil {
		return err
	}
	if err := v.transaction(func() error { return v.rate(story, &c, moderator, rating) }); err != nil {
		return err
	}
	v.page.begin("Rated")
	v.page.link("ViewComment", "The comment", reference(v.old(), story, c.id)...)
	v.page.end()
	return nil
}

// rate changes the rating of a comment and of its writer, as far as ratings go,
// and logs it.
func (v *visit) rate(story int64, c *comment, moderator int64, rating int) error {
	changed, err := v.db.exec(rateComment.of(v.old()), rating, story, c.id, rating, worst, best)
	if err == nil && changed > 0 && rating != 0 {
		_, err = v.db.exec(rateUser, rating, c.writer)
	}
	if err == nil {
		_, err = v.db.exec(logRating, v.newID(), moderator, story, c.id, rating, now())
	}
	return err
}
