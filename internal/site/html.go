package site

import (
	"bytes"
	"html"
	"strings"
)

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
		case (c == '"' || c == '\'') && bytes.HasSuffix(bytes.TrimRight(b[:i], blanks), []byte{'='}):
			quote = c
		case c == '>':
			return i
		}
	}
	return len(b)
}

const blanks = " \t\r\n"

// attribute is the value of an attribute of the tag, as it is written.
func (t *tags) attribute(name string) (value []byte, ok bool) {
	b := t.body
	for {
		b = bytes.TrimLeft(b, blanks+"/")
		if len(b) == 0 {
			return nil, false
		}
		n := bytes.IndexAny(b, blanks+"=/")
		if n < 0 {
			n = len(b)
		}
		if n == 0 { // an = without a name
			n = 1
		}
		key := b[:n]
		b = bytes.TrimLeft(b[n:], blanks)
		value = nil
		if len(b) > 0 && b[0] == '=' {
			value, b = attributeValue(bytes.TrimLeft(b[1:], blanks))
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
	if n := bytes.IndexAny(b, blanks); n >= 0 {
		return b[:n], b[n:]
	}
	return b, nil
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
