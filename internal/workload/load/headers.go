package load

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
)

// Headers are those of a request, by name.
type Headers map[string]string

// Set adds a header that a flag gives: as curl writes it, "Name: value", or as
// Name=value. What comes first, ":" or "=", ends the name; values may hold both,
// and commas.
func (h *Headers) Set(text string) error {
	at := strings.IndexAny(text, ":=")
	if at <= 0 || strings.ContainsAny(text[:at], " \t") {
		return errors.New("must be 'Name: value', such as -H 'Cookie: a=1'")
	}
	name, value := text[:at], strings.TrimSpace(text[at+1:])
	if problem := engine.HeaderProblem(name, value); problem != "" {
		return errors.New(problem)
	}
	if value == "" && text[at] == ':' {
		return fmt.Errorf("the header %s has no value: write -H '%s: value', or -H '%s=' to send it empty", name, name, name)
	}
	for other := range *h {
		if http.CanonicalHeaderKey(other) == http.CanonicalHeaderKey(name) {
			return fmt.Errorf("the header %s is given twice: give it once, with its values separated by commas", name)
		}
	}
	if *h == nil {
		*h = make(Headers)
	}
	(*h)[name] = value
	return nil
}

// Type is what help shows in place of the header.
func (*Headers) Type() string { return "'NAME: VALUE'" }
