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

// comment is one as it is shown.
type comment struct {
	id, story, date, rating, childs, writer int64
	subject, body, nickname                 string
}

// comments lists the replies to a comment; those to the story itself if parent is 0.
func (v *visit) comments(story, parent int64) {
	var c comment
	v.each(v.query(replies), []any{&c.id, &c.subject, &c.body, &c.date, &c.rating, &c.childs, &c.nickname}, func() {
		v.element("h3", c.subject)
		v.comment(&c)
		ref := reference(v.old, story, c.id)
		v.link("ViewComment", number(c.childs)+" replies", ref...)
		v.link("ModerateComment", "Moderate", ref...)
	}, story, parent)
}

func (p *page) comment(c *comment) {
	p.byline(c.nickname, c.date)
	p.element("p", "Rating: "+number(c.rating))
	p.element("p", c.body)
}

// load reads the comment that the form names.
func (v *visit) load() (c comment) {
	c.story, c.id = v.number("story"), v.number("comment")
	v.one(v.query(oneComment), "there is no such comment",
		[]any{&c.subject, &c.body, &c.date, &c.rating, &c.childs, &c.writer, &c.nickname}, c.story, c.id)
	return c
}

func viewComment(v *visit) {
	c := v.load()
	v.begin(c.subject)
	v.comment(&c)
	ref := reference(v.old, c.story, c.id)
	v.link("ViewStory", "The story", reference(v.old, c.story, 0)...)
	v.link("PostComment", "Reply", ref...)
	v.link("ModerateComment", "Moderate", ref...)
	v.comments(c.story, c.id)
}

// hidden adds what a form refers to.
func (v *visit) hidden(story, comment int64) {
	ref := reference(v.old, story, comment)
	for i := 0; i < len(ref); i += 2 {
		v.input("hidden", ref[i], ref[i+1])
	}
}

// parent is the comment that is replied to; 0 for the story itself.
func (v *visit) parent() int64 {
	if v.values.Get("comment") == "" {
		return 0
	}
	return v.number("comment")
}

// title is the title of a story.
func (v *visit) title(story int64) (title string) {
	v.one(v.query(titleOf), "there is no such story", []any{&title}, story)
	return title
}

func postComment(v *visit) {
	story, parent := v.number("story"), v.parent()
	v.begin("Comment on " + v.title(story))
	v.form("StoreComment", "post")
	v.hidden(story, parent)
	v.who()
	v.input("text", "subject", "")
	v.area("body")
	v.submit("Post")
}

func storeComment(v *visit) {
	story, parent := v.number("story"), v.parent()
	subject, body := v.text("subject", maxTitle), v.text("body", maxBody)
	writer := v.user()
	v.title(story)
	id := v.newID()
	v.transaction(func() {
		if parent > 0 && v.exec(v.query(countReply), story, parent) == 0 {
			v.fail(http.StatusNotFound, "there is no such comment to reply to")
		}
		v.exec(v.query(addComment), id, story, parent, writer, now(), subject, body)
	})
	v.begin("Thank you")
	v.link("ViewComment", "Your comment", reference(v.old, story, id)...)
	v.link("ViewStory", "The story", reference(v.old, story, 0)...)
}

func moderateComment(v *visit) {
	c := v.load()
	v.begin("Moderate")
	v.element("h2", c.subject)
	v.comment(&c)
	v.form("StoreModeratorLog", "post")
	v.hidden(c.story, c.id)
	v.who()
	v.choice("rating", []string{"1", "0", "-1"}, []string{"up", "as it is", "down"})
	v.submit("Rate")
}

// storeModeratorLog changes the rating of a comment and of its writer, as far as ratings
// go, and logs it.
func storeModeratorLog(v *visit) {
	rating, err := strconv.Atoi(v.values.Get("rating"))
	if err != nil || rating < -1 || rating > 1 {
		v.fail(http.StatusBadRequest, `"rating" must be -1, 0 or 1`)
	}
	moderator, c := v.user(), v.load()
	v.transaction(func() {
		if v.exec(v.query(rateComment), rating, c.story, c.id, rating, worst, best) > 0 && rating != 0 {
			v.exec(rateUser, rating, c.writer)
		}
		v.exec(logRating, v.newID(), moderator, c.story, c.id, rating, now())
	})
	v.begin("Rated")
	v.link("ViewComment", "The comment", reference(v.old, c.story, c.id)...)
}
