package site

import (
	"bytes"
	"math/rand/v2"
	"net/url"
	"strings"
)

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
