package site

import (
	"bytes"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// Finder finds the ways from pages to interactions. It reads HTML as it is
// written, not as it should be: tags and attributes in any case, with any
// quotes or none, never closed. One is used by one goroutine at a time, and
// holds on to no page.
type Finder struct {
	// Host is that of the site; links to others are left alone.
	Host string
	ways []way
}

// way is a link or a form of a page.
type way struct {
	address []byte // as the page has it
	form    bool
	post    bool
	inside  []byte // what stands between the form's tags
}

// Request is what a user sends.
type Request struct {
	// Target is the path with the query.
	Target string
	// Post: Body, with fields as a form has them, is sent.
	Post bool
	Body string
}

// longestTarget bounds what a link can make a user ask for.
const longestTarget = 8 << 10

// Find returns the request by which a user on a page goes to a path: over one
// of its links, or with one of its forms, each as likely as the others. at is
// the target by which the page was asked for. ok is false where the page has
// no way there.
func (f *Finder) Find(page []byte, at, path string, fields map[string]string, u User, rng *rand.Rand) (r Request, ok bool) {
	f.ways = f.ways[:0]
	f.scan(page, at, path)
	defer f.forget()
	for n := len(f.ways); n > 0; n-- {
		// One that cannot be asked for is no way; the last takes its place.
		i := rng.IntN(n)
		if r, ok = f.follow(f.ways[i], at, path, fields, u, rng); ok {
			return r, true
		}
		f.ways[i] = f.ways[n-1]
	}
	return Request{}, false
}

// forget lets go of the page.
func (f *Finder) forget() { clear(f.ways) }

// scan finds all links and forms that lead to a path.
func (f *Finder) scan(page []byte, at, path string) {
	for t := (tags{rest: page}); t.next(); {
		switch {
		case t.is("a"), t.is("area"):
			href, _ := t.attribute("href")
			if href = bytes.TrimSpace(href); len(href) > 0 && href[0] != '#' && f.leads(href, at, path) {
				f.ways = append(f.ways, way{address: href})
			}
		case t.is("form"):
			// Without an address it is that of the page.
			action, _ := t.attribute("action")
			if action = bytes.TrimSpace(action); f.leads(action, at, path) {
				method, _ := t.attribute("method")
				post := strings.EqualFold(string(bytes.TrimSpace(method)), "post")
				f.ways = append(f.ways, way{address: action, form: true, post: post, inside: inside(t.rest)})
			}
		}
	}
}

// inside is what belongs to a form of which the tag was read.
func inside(rest []byte) []byte {
	for t := (tags{rest: rest}); t.next(); {
		if t.is("/form") || t.is("form") {
			return rest[:t.at]
		}
	}
	return rest
}

// leads reports whether an address, as a page has it, is one of this path.
func (f *Finder) leads(address []byte, at, path string) bool {
	if plain, ok := plainPath(address); ok {
		return string(plain) == path
	}
	u, ok := f.resolve(address, at)
	return ok && u.Path == path
}

// plainPath is the path of an address as nearly all pages have it: absolute, and
// with nothing in it that stands for something else.
func plainPath(address []byte) (path []byte, ok bool) {
	if i := bytes.IndexAny(address, "?#&%"); i >= 0 {
		if ok = address[i] == '?'; !ok {
			return nil, false
		}
		address = address[:i]
	}
	return address, len(address) > 1 && address[0] == '/' && address[1] != '/' && !bytes.Contains(address, []byte("/."))
}

// resolve makes an address absolute (RFC 3986, section 5); the empty one is that
// of the page.
func (f *Finder) resolve(address []byte, at string) (*url.URL, bool) {
	base, err := url.Parse(at)
	if err != nil || len(address) == 0 || len(address) > longestTarget {
		return base, err == nil && len(address) == 0
	}
	ref, err := url.Parse(strings.TrimSpace(text(address)))
	if err != nil || ref.Opaque != "" || ref.Scheme != "" && ref.Scheme != "http" || ref.Host != "" && !strings.EqualFold(ref.Host, f.Host) {
		return nil, false
	}
	return base.ResolveReference(ref), true
}

// follow makes the request of a way.
func (f *Finder) follow(w way, at, path string, fill map[string]string, u User, rng *rand.Rand) (Request, bool) {
	to, ok := f.resolve(w.address, at)
	if !ok || to.Path != path {
		return Request{}, false
	}
	to.Scheme, to.Host, to.Fragment, to.RawFragment = "", "", "", ""
	to.RawQuery = escaped(to.RawQuery)
	if !w.form {
		return sendable(Request{Target: to.RequestURI()})
	}
	fields := (form{fill: fill, user: u, rng: rng}).read(w.inside)
	if w.post {
		return sendable(Request{Target: to.RequestURI(), Post: true, Body: fields})
	}
	to.RawQuery = fields // replaces what the action has, as in browsers
	return sendable(Request{Target: to.RequestURI()})
}

// sendable refuses a request that would break the message that it stands in.
func sendable(r Request) (Request, bool) {
	bad := len(r.Target) > longestTarget || !strings.HasPrefix(r.Target, "/") ||
		strings.ContainsFunc(r.Target, func(c rune) bool { return c <= ' ' || c >= 0x7f })
	return r, !bad
}

// escaped is a query in which everything is a byte that a request may have.
func escaped(query string) string {
	if !strings.ContainsFunc(query, unsent) {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; unsent(rune(c)) {
			const digits = "0123456789ABCDEF"
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unsent(c rune) bool { return c <= ' ' || c >= 0x7f }

// form reads the fields of a form and fills them.
type form struct {
	fill map[string]string
	user User
	rng  *rand.Rand

	out       strings.Builder
	submitted bool
}

// mostFields bounds what one form sends.
const mostFields = 1000

// read returns the fields, encoded as a form's.
func (f form) read(inside []byte) string {
	fields := 0
	for t := (tags{rest: inside}); t.next() && fields < mostFields; fields++ {
		raw, named := t.attribute("name")
		if !named || len(raw) == 0 {
			continue
		}
		name := text(raw)
		switch {
		case t.is("input"), t.is("button"):
			f.input(&t, name)
		case t.is("textarea"):
			f.add(name, text(t.content("/textarea")))
		case t.is("select"):
			f.add(name, f.option(t.content("/select")))
		}
	}
	return f.out.String()
}

// input takes one field; of buttons the first is pressed.
func (f *form) input(t *tags, name string) {
	kind, _ := t.attribute("type")
	raw, has := t.attribute("value")
	value := text(raw)
	if t.is("button") && len(kind) == 0 {
		kind = []byte("submit")
	}
	switch strings.ToLower(string(kind)) {
	case "reset", "image", "file", "button":
		return
	case "submit":
		if f.submitted {
			return
		}
		f.submitted = true
	case "checkbox", "radio":
		if _, checked := t.attribute("checked"); !checked {
			return
		}
		if !has {
			value = "on"
		}
	}
	f.add(name, value)
}

// option is one of a choice, at random.
func (f *form) option(choice []byte) string {
	var options []string
	for t := (tags{rest: choice}); t.next(); {
		if !t.is("option") {
			continue
		}
		value, has := t.attribute("value")
		if !has {
			value, _, _ = bytes.Cut(t.rest, []byte{'<'})
			value = bytes.TrimSpace(value)
		}
		options = append(options, text(value))
	}
	if len(options) == 0 {
		return ""
	}
	return options[f.rng.IntN(len(options))]
}

// add adds a field, with what the user writes into it.
func (f *form) add(name, value string) {
	if what, ok := f.fill[name]; ok {
		if x, err := parseFill(what); err == nil {
			value = x.write(f.user, f.rng)
		}
	}
	if f.out.Len() > 0 {
		f.out.WriteByte('&')
	}
	f.out.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(value))
}

// text is what HTML stands for. What looks like an entity without its semicolon
// is none: "?story=1&copy=2" has two parameters.
func text(raw []byte) string {
	if bytes.IndexByte(raw, '&') < 0 {
		return string(raw)
	}
	var b strings.Builder
	for rest := string(raw); rest != ""; {
		before, after, found := strings.Cut(rest, "&")
		b.WriteString(before)
		if !found {
			break
		}
		n := strings.IndexFunc(after, func(c rune) bool {
			return c != '#' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
		})
		entity := "&"
		if n > 0 && after[n] == ';' {
			entity, after = html.UnescapeString("&"+after[:n+1]), after[n+1:]
		}
		b.WriteString(entity)
		rest = after
	}
	return b.String()
}

// tags goes through the tags of a page.
type tags struct {
	rest []byte // after the tag
	at   int    // where the tag begins, in what was given first
	used int
	name []byte
	body []byte // of the tag: its attributes
}

// next finds the next tag, without what is in comments and scripts.
func (t *tags) next() bool {
	if t.is("script") || t.is("style") {
		t.content("/" + string(bytes.ToLower(t.name)))
	}
	for {
		i := bytes.IndexByte(t.rest, '<')
		if i < 0 {
			return false
		}
		t.skip(i)
		if bytes.HasPrefix(t.rest, []byte("<!--")) {
			end := bytes.Index(t.rest[4:], []byte("-->"))
			if end < 0 {
				return false
			}
			t.skip(4 + end + 3)
			continue
		}
		t.at = t.used
		t.skip(1)
		if n := nameLength(t.rest); n > 0 {
			t.name = t.rest[:n]
			t.skip(n)
			end := tagEnd(t.rest)
			t.body = t.rest[:end]
			t.skip(min(end+1, len(t.rest)))
			return true
		}
	}
}

func (t *tags) skip(n int) { t.rest, t.used = t.rest[n:], t.used+n }

// is compares the name of the tag; that of a closing tag begins with a slash.
func (t *tags) is(name string) bool {
	return len(t.name) == len(name) && strings.EqualFold(string(t.name), name)
}

// content is what follows up to a closing tag, which comes next.
func (t *tags) content(until string) []byte {
	begin := t.rest
	for i := 0; ; {
		k := bytes.IndexByte(begin[i:], '<')
		if k < 0 {
			t.skip(len(begin))
			return begin
		}
		i += k
		if n := len(until); len(begin) >= i+1+n && strings.EqualFold(string(begin[i+1:i+1+n]), until) {
			t.skip(i)
			return begin[:i]
		}
		i++
	}
}

// nameLength is how long the name is that a tag begins with; 0: it is none.
func nameLength(b []byte) int {
	n := 0
	if len(b) > 0 && b[0] == '/' {
		n = 1
	}
	first := n
	for n < len(b) && (b[n] >= 'a' && b[n] <= 'z' || b[n] >= 'A' && b[n] <= 'Z' || n > first && b[n] >= '0' && b[n] <= '9') {
		n++
	}
	if n == first {
		return 0
	}
	return n
}

// tagEnd is where a tag ends that has begun: before its >, but not in quotes.
func tagEnd(b []byte) int {
	var quote byte
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && i > 0 && endsWithEqual(b[:i]):
			quote = c
		case c == '>':
			return i
		}
	}
	return len(b)
}

func endsWithEqual(b []byte) bool {
	b = bytes.TrimRight(b, " \t\r\n")
	return len(b) > 0 && b[len(b)-1] == '='
}

// attribute is the value of an attribute of the tag, as it is written.
func (t *tags) attribute(name string) (value []byte, ok bool) {
	b := t.body
	for {
		b = bytes.TrimLeft(b, " \t\r\n/")
		if len(b) == 0 {
			return nil, false
		}
		n := bytes.IndexAny(b, " \t\r\n=/")
		if n < 0 {
			n = len(b)
		}
		if n == 0 { // an = without a name
			n = 1
		}
		key := b[:n]
		b = bytes.TrimLeft(b[n:], " \t\r\n")
		value = nil
		if len(b) > 0 && b[0] == '=' {
			value, b = attributeValue(bytes.TrimLeft(b[1:], " \t\r\n"))
		}
		if strings.EqualFold(string(key), name) {
			return value, true
		}
	}
}

// attributeValue splits a value, with quotes or without, from what follows.
func attributeValue(b []byte) (value, rest []byte) {
	if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
		value, rest, _ = bytes.Cut(b[1:], b[:1])
		return value, rest
	}
	n := slices.IndexFunc(b, func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' })
	if n < 0 {
		n = len(b)
	}
	return b[:n], b[n:]
}
