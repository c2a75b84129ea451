package board_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/site"
)

// pages: each interaction answers what it should, users who follow links reach all
// of them, what was written is seen afterwards, and what is wrong is said with the
// right status.
func pages(t *testing.T, b base) {
	s := start(t, board.Config{Role: board.All, DB: []string{b.url}, Pool: 8})
	u := newUser(t, s.Address())
	t.Run("as loaded", func(t *testing.T) { checkDifferences(t, b.url, 0) })
	t.Run("crawl", func(t *testing.T) { crawl(t, u) })
	t.Run("writes", func(t *testing.T) { writes(t, u) })
	t.Run("errors", func(t *testing.T) { wrong(t, u) })
	t.Run("one of many accepts", func(t *testing.T) { acceptOnce(t, u) })
	t.Run("replies at once", func(t *testing.T) { repliesAtOnce(t, u) })
	t.Run("written", func(t *testing.T) { checkDifferences(t, b.url, 5) })
}

// checkDifferences wants at least so many.
func checkDifferences(t *testing.T, url string, least int) {
	_, found, err := board.Check(t.Context(), []string{url})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < least || least == 0 && len(found) > 0 {
		t.Errorf("Check finds %v, want %d differences or more (none if 0)", found, least)
	}
}

var (
	links  = regexp.MustCompile(`href="(/[^"]*)"`)
	forms  = regexp.MustCompile(`(?s)<form action="([^"]*)" method="([^"]*)">(.*?)</form>`)
	fields = regexp.MustCompile(`<(?:input type="(\w+)"|textarea|select) name="(\w+)"(?: value="([^"]*)")?>(?:<option value="([^"]*)">)?`)
)

// request is a link or a form, filled.
type request struct {
	method, path string
	form         url.Values
}

// requests are all links and forms of a page, filled as user1, who is an author.
func requests(page string) []request {
	var all []request
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		all = append(all, request{"GET", html.UnescapeString(m[1]), nil})
	}
	for _, m := range forms.FindAllStringSubmatch(page, -1) {
		r := request{strings.ToUpper(m[2]), m[1], url.Values{}}
		for _, f := range fields.FindAllStringSubmatch(m[3], -1) {
			r.form.Set(f[2], fill(f[1], f[2], html.UnescapeString(f[3]+f[4])))
		}
		if r.method == "GET" {
			r.path, r.form = r.path+"?"+r.form.Encode(), nil
		}
		all = append(all, r)
	}
	return all
}

func fill(kind, name, value string) string {
	switch {
	case value != "" || kind == "hidden":
		return value
	case name == "nickname":
		return "user1"
	case name == "password":
		return "password1"
	}
	return "some text with <b> & \"quotes\" and äöü"
}

// crawl follows links and forms, of each interaction at most a few, until all
// interactions were reached.
func crawl(t *testing.T, u *user) {
	asked := map[string]int{}
	next := []request{{"GET", "/", nil}}
	for len(next) > 0 {
		r := next[0]
		next = next[1:]
		name, _, _ := strings.Cut(r.path, "?")
		if asked[name]++; asked[name] > 20 {
			continue
		}
		page := u.page(r.method, r.path, r.form)
		if strings.Contains(page, "<b>") {
			t.Fatalf("%s shows what a user wrote as HTML", r.path)
		}
		next = append(next, requests(page)...)
	}
	for _, i := range site.Board() {
		if asked["/"+i.Name] == 0 {
			t.Errorf("no link leads to %s", i.Name)
		}
	}
	for name := range asked {
		if name != "/" && !known(name) {
			t.Errorf("a link leads to %s, which is no interaction", name)
		}
	}
}

func known(path string) bool {
	for _, i := range site.Board() {
		if path == "/"+i.Name {
			return true
		}
	}
	return false
}

// has fails if a page lacks a text.
func has(t *testing.T, page, want string) {
	t.Helper()
	if !strings.Contains(page, want) {
		t.Fatalf("the page has no %q:\n%s", want, page)
	}
}

// first finds the number in the first link or field of a page that matches.
func first(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no %s:\n%s", pattern, page)
	}
	return m[1]
}

// values makes a form from names and values in turn.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// writes makes a user, a story and comments, and looks for each.
func writes(t *testing.T, u *user) {
	u.page("POST", "/RegisterUser", values("nickname", "zoe", "password", "p", "email", "z@board.example"))
	has(t, u.page("GET", "/SearchInUsers?search=zoe", nil), "zoe")
	has(t, u.page("POST", "/RegisterUser", values("nickname", "zoe", "password", "p")), "already")

	u.page("POST", "/StoreStory", values("nickname", "zoe", "password", "p", "title", "zzz news", "body", "it is new", "category", "3"))
	u.page("POST", "/StoreStory", values("title", "zzz old hat", "body", "it is not", "category", "3"))
	tasks := u.page("POST", "/AuthorTasks", values("nickname", "user2", "password", "password2"))
	author := first(t, tasks, `/ReviewStories\?author=(\d+)`)
	news, hat := submission(t, u, author, "zzz news"), submission(t, u, author, "zzz old hat")
	has(t, u.page("POST", "/AcceptStory", values("author", author, "submission", news)), "/ViewStory?story="+news)
	has(t, u.page("POST", "/RejectStory", values("author", author, "submission", hat)), "Rejected")
	has(t, u.page("POST", "/AcceptStory", values("author", author, "submission", hat)), "Decided already")
	has(t, u.page("GET", "/", nil), "zzz news")
	has(t, u.page("GET", "/BrowseStoriesInCategory?category=3", nil), "zzz news")
	found := u.page("GET", "/SearchInStories?search=zzz", nil)
	has(t, found, "by zoe")
	if strings.Contains(found, "zzz old hat") {
		t.Error("a rejected story is found")
	}

	u.page("POST", "/StoreComment", values("nickname", "zoe", "password", "p", "story", news, "subject", "zzz first", "body", "well"))
	story := u.page("GET", "/ViewStory?story="+news, nil)
	has(t, story, "zzz first")
	comment := first(t, story, `/ViewComment\?story=`+news+`&amp;comment=(\d+)`)
	u.page("POST", "/StoreComment", values("story", news, "comment", comment, "subject", "zzz second", "body", "no"))
	has(t, u.page("GET", "/ViewStory?story="+news, nil), "1 replies")
	view := "/ViewComment?story=" + news + "&comment=" + comment
	has(t, u.page("GET", view, nil), "zzz second")
	has(t, u.page("GET", "/SearchInComments?search=zzz+s", nil), "zzz second")

	rate := values("story", news, "comment", comment, "rating", "-1", "nickname", "user5", "password", "password5")
	for range 2 { // the second goes beyond the worst, and changes nothing
		u.page("POST", "/StoreModeratorLog", rate)
		has(t, u.page("GET", view, nil), "Rating: -1")
	}
	has(t, u.page("GET", "/SearchInUsers?search=zoe", nil), "Rating: -1")

	old := first(t, u.page("GET", "/OlderStories", nil), `/ViewStory\?story=(\d+)&amp;old=1`)
	u.page("POST", "/StoreComment", values("story", old, "old", "1", "subject", "zzz late", "body", "still"))
	has(t, u.page("GET", "/ViewStory?story="+old+"&old=1", nil), "zzz late")
}

// submission finds a story that waits, on pages that begin anywhere.
func submission(t *testing.T, u *user, author, title string) string {
	t.Helper()
	for range 300 {
		page := u.page("GET", "/ReviewStories?author="+author, nil)
		if _, rest, ok := strings.Cut(page, "<h2>"+title); ok {
			return first(t, rest, `name="submission" value="(\d+)"`)
		}
	}
	t.Fatalf("%q does not wait for a review", title)
	return ""
}

// wrong asks for what there is not.
func wrong(t *testing.T, u *user) {
	for _, c := range []struct {
		request
		status int
		says   string
	}{
		{request{"GET", "/Nothing", nil}, 404, "no such page"},
		{request{"GET", "/ViewStory?story=99999999", nil}, 404, "no such story"},
		{request{"GET", "/ViewStory?story=1", nil}, 404, "no such story"}, // it is an old one
		{request{"GET", "/ViewStory?story=x", nil}, 400, "must be a number"},
		{request{"GET", "/ViewStory", nil}, 400, "must be a number"},
		{request{"GET", "/ViewComment?story=1&old=1&comment=4000", nil}, 404, "no such comment"},
		{request{"GET", "/BrowseStoriesInCategory?category=21", nil}, 404, "no such category"},
		{request{"GET", "/OlderStories?page=1001", nil}, 400, "1000 pages"},
		{request{"GET", "/SearchInStories?search=", nil}, 400, "1 to 100"},
		{request{"GET", "/SearchInStories?search=%00", nil}, 400, "1 to 100"},
		{request{"GET", "/SearchInStories?search=%ff", nil}, 400, "1 to 100"},
		{request{"GET", "/ReviewStories?author=200", nil}, 403, "no author"},
		{request{"GET", "/StoreStory", nil}, 405, "takes POST"},
		{request{"DELETE", "/Browse", nil}, 405, "takes GET, HEAD, POST"},
		{request{"POST", "/AuthorTasks", values("nickname", "user1", "password", "wrong")}, 403, "is wrong"},
		{request{"POST", "/AuthorTasks", values("nickname", "user200", "password", "password200")}, 403, "no author"},
		{request{"POST", "/RegisterUser", values("nickname", "user1", "password", "mine")}, 409, "taken"},
		{request{"POST", "/RegisterUser", values("nickname", strings.Repeat("x", 65), "password", "p")}, 400, "1 to 64"},
		{request{"POST", "/StoreComment", values("story", "99999999", "subject", "s", "body", "b")}, 404, "no such story"},
		{request{"POST", "/StoreComment", values("story", "130", "comment", "4000", "subject", "s", "body", "b")}, 404, "no such comment"},
		{request{"POST", "/StoreComment", values("story", "130", "subject", "s", "body", strings.Repeat("b", 70_000))}, 413, "65536 bytes"},
		{request{"POST", "/StoreModeratorLog", values("story", "130", "comment", "1", "rating", "2")}, 400, "-1, 0 or 1"},
		{request{"POST", "/AcceptStory", values("author", "200", "submission", "1")}, 403, "no author"},
	} {
		status, page := u.do(c.method, c.path, c.form)
		if status != c.status || !strings.Contains(page, c.says) {
			t.Errorf("%s %s: %d, want %d with %q:\n%s", c.method, c.path, status, c.status, c.says, page)
		}
	}
}

// acceptOnce: of many authors who accept one story at once, one does.
func acceptOnce(t *testing.T, u *user) {
	u.page("POST", "/StoreStory", values("title", "wanted by all", "body", "b", "category", "1"))
	id := submission(t, u, "1", "wanted by all")
	var accepted atomic.Int64
	atOnce(10, func(i int) {
		page := u.page("POST", "/AcceptStory", values("author", fmt.Sprint(1+i), "submission", id))
		if strings.Contains(page, "<h1>Accepted") {
			accepted.Add(1)
		}
	})
	if n := accepted.Load(); n != 1 {
		t.Errorf("%d of 10 authors accepted the story, want 1", n)
	}
	has(t, u.page("GET", "/ViewStory?story="+id, nil), "wanted by all")
}

// repliesAtOnce: none of the replies to one comment is lost, or not counted.
func repliesAtOnce(t *testing.T, u *user) {
	u.page("POST", "/StoreComment", values("story", "150", "subject", "root", "body", "b"))
	id := first(t, u.page("GET", "/SearchInComments?search=root", nil), `comment=(\d+)`)
	const replies = 40
	atOnce(replies, func(i int) {
		u.page("POST", "/StoreComment", values("story", "150", "comment", id, "subject", fmt.Sprintf("answer %d.", i), "body", "b"))
	})
	has(t, u.page("GET", "/ViewStory?story=150", nil), fmt.Sprintf("%d replies", replies))
	page := u.page("GET", "/ViewComment?story=150&comment="+id, nil)
	for i := range replies {
		has(t, page, fmt.Sprintf("answer %d.", i))
	}
}

func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
