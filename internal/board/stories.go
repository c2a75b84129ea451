package board

import "math/rand/v2"

// storiesOfDay is how many stories the first page has.
const storiesOfDay = 10

var (
	latestStories = sqlOf(`SELECT s.id, s.title, s.body, s.date, u.nickname FROM stories s JOIN users u ON u.id = s.writer
		ORDER BY s.date DESC, s.id DESC LIMIT ?`)
	listCategories = sqlOf("SELECT id, name FROM categories ORDER BY name")
	storiesInOne   = sqlOf(`SELECT s.id, s.title, s.date, u.nickname FROM stories s JOIN users u ON u.id = s.writer
		WHERE s.category = ? ORDER BY s.date DESC, s.id DESC LIMIT ? OFFSET ?`)
	storiesOlder = sqlOf(`SELECT s.id, s.title, s.date, u.nickname FROM old_stories s JOIN users u ON u.id = s.writer
		ORDER BY s.date DESC, s.id DESC LIMIT ? OFFSET ?`)
	oneStory = sqlOfEither(`SELECT s.title, s.body, s.date, u.nickname FROM {stories} s JOIN users u ON u.id = s.writer
		WHERE s.id = ?`)
	addSubmission = addTo("submissions")
	oneCategory   = sqlOf("SELECT name FROM categories WHERE id = ?")
)

// addTo adds a row to a table of stories.
func addTo(table string) query {
	return sqlOf("INSERT INTO " + table + " (id, title, body, date, writer, category) VALUES (?, ?, ?, ?, ?, ?)")
}

func storiesOfTheDay(v *visit) {
	v.begin("Stories of the day")
	v.stories(latestStories, func(id int64) {
		v.link("ViewStory", "Read and comment", reference(false, id, 0)...)
	}, storiesOfDay)
}

// stories shows stories, of which a query selects number, title, text, date and writer,
// each with what more adds; it returns how many there were.
func (v *visit) stories(q query, more func(id int64), args ...any) int {
	var id, date int64
	var title, body, writer string
	return v.each(q, []any{&id, &title, &body, &date, &writer}, func() {
		v.element("h2", title)
		v.byline(writer, date)
		v.element("p", body)
		more(id)
	}, args...)
}

func browse(v *visit) {
	v.begin("Browse")
	v.link("BrowseCategories", "Stories by category")
	v.link("OlderStories", "Older stories")
	v.link("StoriesOfTheDay", "Stories of the day")
}

// categories calls f for each category.
func (v *visit) categories(f func(id, name string)) {
	var id int64
	var name string
	v.each(listCategories, []any{&id, &name}, func() { f(number(id), name) })
}

func browseCategories(v *visit) {
	v.begin("Categories")
	v.categories(func(id, name string) { v.link("BrowseStoriesInCategory", name, "category", id) })
}

// titles lists stories, of which a query selects number, title, date and writer.
func (v *visit) titles(old bool, q query, args ...any) (shown int) {
	var id, date int64
	var title, writer string
	return v.each(q, []any{&id, &title, &date, &writer}, func() {
		v.link("ViewStory", title, reference(old, id, 0)...)
		v.byline(writer, date)
	}, args...)
}

const noStories = "There are no stories here."

// category is the name of a category.
func (v *visit) category(id int64) (name string) {
	v.one(oneCategory, "there is no such category", []any{&name}, id)
	return name
}

func browseStoriesInCategory(v *visit) {
	category, page := v.number("category"), v.pageNumber()
	v.begin(v.category(category))
	shown := v.titles(false, storiesInOne, category, pageSize, page*pageSize)
	v.turn("BrowseStoriesInCategory", noStories, shown, page, "category", number(category))
}

func olderStories(v *visit) {
	page := v.pageNumber()
	v.begin("Older stories")
	v.turn("OlderStories", noStories, v.titles(true, storiesOlder, pageSize, page*pageSize), page)
}

func viewStory(v *visit) {
	var title, body, writer string
	var date int64
	story := v.number("story")
	v.one(v.query(oneStory), "there is no such story", []any{&title, &body, &date, &writer}, story)
	v.begin(title)
	v.byline(writer, date)
	v.element("p", body)
	v.link("PostComment", "Post a comment", reference(v.old, story, 0)...)
	v.comments(story, 0)
}

func submitStory(v *visit) {
	v.begin("Submit a story")
	v.form("StoreStory", "post")
	v.who()
	v.input("text", "title", "")
	v.area("body")
	var values, names []string
	v.categories(func(id, name string) { values, names = append(values, id), append(names, name) })
	v.choice("category", values, names)
	v.submit("Submit")
}

// Limits of what users write, in characters; the columns are as wide.
const (
	maxTitle = 100
	maxBody  = 10_000
	maxName  = 64
)

func storeStory(v *visit) {
	title, body, category := v.text("title", maxTitle), v.text("body", maxBody), v.number("category")
	writer := v.user()
	v.category(category)
	id := v.newID()
	v.exec(addSubmission, id, title, body, now(), writer, category)
	v.begin("Submitted")
	v.element("p", "Your story waits for an author's review. Its number is "+number(id)+".")
}

func (v *visit) newID() int64 { return v.app.ids.next(rand.Int64()) }
