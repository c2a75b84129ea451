package board

import (
	"math/rand/v2"
)

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
	oneStory      = sqlOfEither(`SELECT s.title, s.body, s.date, u.nickname FROM {stories} s JOIN users u ON u.id = s.writer WHERE s.id = ?`)
	storyComments = sqlOfEither(`SELECT c.id, c.subject, c.body, c.date, c.rating, c.childs, u.nickname FROM {comments} c
		JOIN users u ON u.id = c.writer WHERE c.story_id = ? AND c.parent = 0 ORDER BY c.id LIMIT 50`)
	addSubmission = sqlOf("INSERT INTO submissions (id, title, body, date, writer, category) VALUES (?, ?, ?, ?, ?, ?)")
	oneCategory   = sqlOf("SELECT name FROM categories WHERE id = ?")
)

func storiesOfTheDay(v *visit) error {
	v.page.begin("Stories of the day")
	err := v.db.each(latestStories, func(scan func(...any) error) error {
		var id, date int64
		var title, body, writer string
		if err := scan(&id, &title, &body, &date, &writer); err != nil {
			return err
		}
		v.page.element("h2", title)
		v.page.byline(writer, date)
		v.page.element("p", body)
		v.page.link("ViewStory", "Read and comment", reference(false, id, 0)...)
		return nil
	}, storiesOfDay)
	v.page.end()
	return err
}

func browse(v *visit) error {
	v.page.begin("Browse")
	v.page.link("BrowseCategories", "Stories by category")
	v.page.link("OlderStories", "Older stories")
	v.page.link("StoriesOfTheDay", "Stories of the day")
	v.page.end()
	return nil
}

// categories calls f for each category.
func (v *visit) categories(f func(id int64, name string)) error {
	return v.db.each(listCategories, func(scan func(...any) error) error {
		var id int64
		var name string
		err := scan(&id, &name)
		f(id, name)
		return err
	})
}

func browseCategories(v *visit) error {
	v.page.begin("Categories")
	err := v.categories(func(id int64, name string) {
		v.page.link("BrowseStoriesInCategory", name, "category", number(id))
	})
	v.page.end()
	return err
}

// titles lists stories: number, title, date, writer.
func (v *visit) titles(old bool, q query, args ...any) (shown int, err error) {
	err = v.db.each(q, func(scan func(...any) error) error {
		var id, date int64
		var title, writer string
		if err := scan(&id, &title, &date, &writer); err != nil {
			return err
		}
		shown++
		v.page.link("ViewStory", title, reference(old, id, 0)...)
		v.page.byline(writer, date)
		return nil
	}, args...)
	if shown == 0 {
		v.page.element("p", "There are no stories here.")
	}
	return shown, err
}

func browseStoriesInCategory(v *visit) error {
	category, err := v.number("category")
	if err != nil {
		return err
	}
	page, err := v.pageNumber()
	if err != nil {
		return err
	}
	var name string
	if err := v.db.one(oneCategory, "there is no such category", []any{&name}, category); err != nil {
		return err
	}
	v.page.begin(name)
	shown, err := v.titles(false, storiesInOne, category, pageSize, page*pageSize)
	v.turn("BrowseStoriesInCategory", shown, page, "category", number(category))
	v.page.end()
	return err
}

func olderStories(v *visit) error {
	page, err := v.pageNumber()
	if err != nil {
		return err
	}
	v.page.begin("Older stories")
	shown, err := v.titles(true, storiesOlder, pageSize, page*pageSize)
	v.turn("OlderStories", shown, page)
	v.page.end()
	return err
}

func viewStory(v *visit) error {
	story, err := v.number("story")
	if err != nil {
		return err
	}
	var title, body, writer string
	var date int64
	if err := v.db.one(oneStory.of(v.old()), "there is no such story", []any{&title, &body, &date, &writer}, story); err != nil {
		return err
	}
	v.page.begin(title)
	v.page.byline(writer, date)
	v.page.element("p", body)
	v.page.link("PostComment", "Post a comment", reference(v.old(), story, 0)...)
	err = v.comments(story, storyComments.of(v.old()), story)
	v.page.end()
	return err
}

func submitStory(v *visit) error {
	v.page.begin("Submit a story")
	v.page.form("StoreStory", "post")
	v.page.who()
	v.page.input("text", "title", "")
	v.page.area("body")
	var values, names []string
	err := v.categories(func(id int64, name string) { values, names = append(values, number(id)), append(names, name) })
	v.page.choice("category", values, names)
	v.page.submit("Submit")
	v.page.end()
	return err
}

// Limits of what users write, in characters; the columns are as wide.
const (
	maxTitle = 100
	maxBody  = 10_000
	maxName  = 64
)

func storeStory(v *visit) error {
	title, err := v.text("title", maxTitle)
	if err != nil {
		return err
	}
	body, err := v.text("body", maxBody)
	if err != nil {
		return err
	}
	category, err := v.number("category")
	if err != nil {
		return err
	}
	writer, err := v.user()
	if err != nil {
		return err
	}
	var name string
	if err := v.db.one(oneCategory, "there is no such category", []any{&name}, category); err != nil {
		return err
	}
	id := v.newID()
	if _, err := v.db.exec(addSubmission, id, title, body, now(), writer, category); err != nil {
		return err
	}
	v.page.begin("Submitted")
	v.page.element("p", "Your story waits for an author's review. Its number is "+number(id)+".")
	v.page.end()
	return nil
}

func (v *visit) newID() int64 { return v.app.ids.next(rand.Int64()) }
