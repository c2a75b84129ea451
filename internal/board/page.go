package board

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// page is an answer as it grows. Templates would cost several times as much
// processor time, which would be part of every measured demand.
type page struct {
	status      int
	contentType string
	body        []byte
}

const htmlType = "text/html; charset=utf-8"

func (p *page) reset() {
	p.status, p.contentType, p.body = http.StatusOK, htmlType, p.body[:0]
}

// raw adds HTML.
func (p *page) raw(parts ...string) {
	for _, s := range parts {
		p.body = append(p.body, s...)
	}
}

// element adds an element with text in it.
func (p *page) element(name, text string) {
	p.raw("<", name, ">", html.EscapeString(text), "</", name, ">\n")
}

// begin begins the page: every page has links to all that can be asked for
// without knowing anything.
func (p *page) begin(title string) {
	title = html.EscapeString(title)
	p.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><title>", title, "</title></head>\n<body>\n", navigation,
		"<h1>", title, "</h1>\n")
}

const navigation = `<nav><a href="/StoriesOfTheDay">Stories of the day</a> <a href="/Browse">Browse</a> ` +
	`<a href="/BrowseCategories">Categories</a> <a href="/OlderStories">Older stories</a> <a href="/Search">Search</a> ` +
	`<a href="/Register">Register</a> <a href="/SubmitStory">Submit a story</a> <a href="/AuthorLogin">Authors</a></nav>` + "\n"

func (p *page) end() { p.raw("</body></html>\n") }

// link adds a link to an interaction; params are names and values in turn.
func (p *page) link(interaction, text string, params ...string) {
	p.raw(`<a href="/`, interaction)
	before := "?"
	for i := 0; i+1 < len(params); i += 2 {
		p.raw(before, params[i], "=", url.QueryEscape(params[i+1]))
		before = "&amp;"
	}
	p.raw(`">`, html.EscapeString(text), "</a>\n")
}

// form begins a form that asks for an interaction with get or post.
func (p *page) form(interaction, method string) {
	p.raw(`<form action="/`, interaction, `" method="`, method, `">`, "\n")
}

// submit ends a form.
func (p *page) submit(text string) {
	p.raw(`<input type="submit" value="`, html.EscapeString(text), "\"></form>\n")
}

// input adds a field of a form: text, password or hidden.
func (p *page) input(kind, name, value string) {
	p.raw(`<input type="`, kind, `" name="`, name, `" value="`, html.EscapeString(value), "\">\n")
}

// area adds a field for long text.
func (p *page) area(name string) { p.raw(`<textarea name="`, name, `"></textarea>`, "\n") }

// choice adds a field with some values; the first is chosen.
func (p *page) choice(name string, values, texts []string) {
	p.raw(`<select name="`, name, `">`)
	for i, v := range values {
		p.raw(`<option value="`, v, `">`, html.EscapeString(texts[i]), "</option>")
	}
	p.raw("</select>\n")
}

// who adds the fields with which a user says who they are.
func (p *page) who() {
	p.input("text", "nickname", "")
	p.input("password", "password", "")
}

// byline adds writer and date.
func (p *page) byline(writer string, date int64) {
	p.raw("<p>by ", html.EscapeString(writer))
	p.body = time.UnixMilli(date).UTC().AppendFormat(append(p.body, " on "...), "2006-01-02 15:04")
	p.raw("</p>\n")
}

// number writes a number as parameters of links have it.
func number(n int64) string { return strconv.FormatInt(n, 10) }

// fault is an answer other than 200: a status, and a text for the user.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

// show replaces the page by one that says what is wrong.
func (p *page) show(err error) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = &fault{http.StatusInternalServerError, err.Error()}
	}
	p.reset()
	p.status = f.status
	p.begin(http.StatusText(f.status))
	p.element("p", f.text)
	p.end()
}
