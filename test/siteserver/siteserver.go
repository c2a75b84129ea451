// Package siteserver is a small web site with real pages: whatever its
// interactions are, each page has the links and forms that lead to the others.
// Tests of users visit it, over HTTP or in memory.
package siteserver

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/site"
)

// Server answers as a site does. It may be changed before it serves.
type Server struct {
	Site site.Site
	// Delay is how long it takes for each answer.
	Delay time.Duration
	// Pad is how many bytes a page has besides.
	Pad int
	// Missing are links that pages do not have, from and to.
	Missing map[[2]string]bool
	// Wrong answers in the place of a page; it returns false for other requests.
	Wrong func(http.ResponseWriter, *http.Request) bool

	mu     sync.Mutex
	visits map[string]int
	forms  map[string]string // the last that was sent to an interaction
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Delay > 0 {
		select {
		case <-time.After(s.Delay):
		case <-r.Context().Done(): // the user has left
		}
	}
	if s.Wrong != nil && s.Wrong(w, r) {
		return
	}
	at := s.Site.Index(strings.TrimPrefix(r.URL.Path, "/"))
	if at < 0 {
		http.NotFound(w, r)
		return
	}
	if err := r.ParseForm(); err != nil || s.Site[at].Write != (r.Method == http.MethodPost) {
		http.Error(w, "a form is missing", http.StatusBadRequest)
		return
	}
	s.note(s.Site[at].Name, r.Form.Encode())
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write(s.Page(at)) // the client may have left
}

func (s *Server) note(name, form string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.visits == nil {
		s.visits, s.forms = make(map[string]int), make(map[string]string)
	}
	s.visits[name]++
	s.forms[name] = form
}

// Visits is how often each interaction was asked for.
func (s *Server) Visits() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.visits)
}

// Form is the last form, or query, that was sent to an interaction.
func (s *Server) Form(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[name]
}

// Page is that of an interaction: three links, or a form, to each that follows.
func (s *Server) Page(at int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<html><head><title>%s</title></head><body><!-- <a href=\"/nowhere\"> -->%s\n", s.Site[at].Name, strings.Repeat("lorem ", s.Pad/6))
	for _, name := range s.Site[at].Links {
		to := s.Site[s.Site.Index(name)]
		if s.Missing[[2]string{s.Site[at].Name, name}] {
			continue
		}
		if len(to.Fill) == 0 && !to.Write {
			for id := range 3 {
				fmt.Fprintf(&b, "<a class=x href=\"%s?id=%d&amp;from=%d\">%s</a>\n", to.Path, id, at, name)
			}
			continue
		}
		method := "get"
		if to.Write {
			method = "POST"
		}
		fmt.Fprintf(&b, "<form action=%s method=%s><input type=hidden name=id value=\"7\">", to.Path, method)
		for _, field := range slices.Sorted(maps.Keys(to.Fill)) {
			fmt.Fprintf(&b, "<input name='%s'>", field)
		}
		b.WriteString("<select name=rating><option>-1<option value=0>none<option value=1>good</select><input type=submit></form>\n")
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}
