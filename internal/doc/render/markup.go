package render

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/term"
)

// A page is a tree of nodes. Names of elements and attributes are constants of
// this package; everything else passes escape, except for drawings and the
// page's own style sheet and script, which are of type raw.
type node interface{ write(b *strings.Builder) }

// name is one of an element or an attribute.
type name string

// element is an element with its attributes and what it contains.
type element struct {
	name  name
	attrs []attr
	kids  []node
}

// attr is an attribute. One without a value is left out, unless it is bare.
type attr struct {
	name  name
	value string
	bare  bool
}

// text is plain text, raw is markup that is safe already, group is several
// nodes in a row.
type (
	text  string
	raw   string
	group []node
)

// el makes an element of attributes and nodes; nil nodes are left out.
func el(n name, parts ...any) element {
	e := element{name: n}
	for _, p := range parts {
		switch p := p.(type) {
		case nil:
		case attr:
			e.attrs = append(e.attrs, p)
		case node:
			e.kids = append(e.kids, p)
		default:
			panic(fmt.Sprintf("%T is not part of an element", p))
		}
	}
	return e
}

// is makes an attribute; without a value it is left out.
func is(n name, value string) attr { return attr{name: n, value: value} }

// class makes the attribute of that name from all classes that are not empty.
func class(classes ...string) attr {
	return is("class", strings.Join(strings.Fields(strings.Join(classes, " ")), " "))
}

// bare makes an attribute that has no value.
func bare(n name, on bool) attr { return attr{name: n, bare: on} }

// voids are elements that contain nothing and are not closed.
var voids = map[name]bool{"meta": true, "br": true}

// lines are elements that stand on lines of their own, so that the source of a
// page can be read and compared.
var lines = map[name]bool{
	"head": true, "meta": true, "title": true, "body": true, "header": true, "main": true, "footer": true, "section": true,
	"article": true, "h1": true, "h2": true, "h3": true, "h4": true, "p": true, "ul": true, "li": true, "dl": true, "figure": true,
	"details": true, "table": true, "tr": true, "pre": true, "script": true, "style": true, "div": true,
}

func (e element) write(b *strings.Builder) {
	if lines[e.name] {
		b.WriteByte('\n')
	}
	b.WriteString("<" + string(e.name))
	for _, a := range e.attrs {
		if a.bare {
			b.WriteString(" " + string(a.name))
		} else if a.value != "" {
			b.WriteString(" " + string(a.name) + `="` + escape(a.value) + `"`)
		}
	}
	b.WriteByte('>')
	if voids[e.name] {
		return
	}
	for _, k := range e.kids {
		k.write(b)
	}
	b.WriteString("</" + string(e.name) + ">")
}

func (t text) write(b *strings.Builder) { b.WriteString(escape(term.Clean(string(t)))) }

func (r raw) write(b *strings.Builder) { b.WriteString(string(r)) }

func (g group) write(b *strings.Builder) {
	for _, n := range g {
		n.write(b)
	}
}

// escape is where every text and every value of an attribute becomes markup.
// Characters that must not reach a reader become the replacement character; in
// texts, Clean has written them out before.
func escape(s string) string {
	return entities.Replace(strings.Map(func(r rune) rune {
		if term.Unsafe(r) && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, s))
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\n", "&#10;", "\t", "&#9;")

// href is a link within the page; it ignores any other address.
func href(address string) attr {
	if !strings.HasPrefix(address, "#") || len(address) == 1 {
		return attr{name: "href"}
	}
	return is("href", address)
}
