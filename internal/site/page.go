package site

import (
	"bytes"
	"math/rand/v2"
	"net/url"
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
	defer func() { clear(f.ways) }() // which lets go of the page
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
