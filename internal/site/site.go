// Package site says what a web site is for the users who visit it: which
// interactions there are, and how one leads to the next.
//
// A user on a page goes on to an [Interaction] as people do: over one of the
// page's links with its path, or by sending the form with that action
// ([Finder]). Hidden fields are kept; fields that a person would write in are
// filled as Fill says. Some interactions can be reached from everywhere, by
// their address alone.
//
// [Board] is the table of the bulletin board that scalebench has built in: the
// page of each interaction holds at least the links in its row.
package site

import (
	"fmt"
	"strconv"
	"strings"
)

// Interaction is one kind of page that can be asked for, or one kind of form
// that can be sent.
type Interaction struct {
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z][A-Za-z0-9_-]*$" jsonschema_description:"Name of the interaction: in results, and in transition tables."`
	// Path begins with a slash and has no query.
	Path string `json:"path,omitempty" jsonschema_description:"Path of the links and forms that lead to it, below that of url. Default: a slash and the name."`
	// Direct interactions can be asked for without a link on the page before.
	Direct bool `json:"direct,omitempty" jsonschema_description:"It needs no link: where the page has none, its path is requested as it is."`
	// Write says that the site stores something; the page after it is never
	// asked for again by going back.
	Write bool `json:"write,omitempty" jsonschema_description:"It changes what the site stores: going back never repeats it."`
	// Fill says what is written into the fields of its form, by their names:
	// "words N", "text N" (some N bytes), "nickname", "password", "new_name",
	// or "=VALUE". Other fields keep the values that they have.
	Fill map[string]string `json:"fill,omitempty" jsonschema_description:"What users write into the form that leads to it, by the names of its fields: words N, text N (some N bytes), nickname, password, new_name (one that no account has), or =VALUE. Of a choice one option is taken at random; other fields keep the values that the page gives them."`
	// Links are interactions that its page leads to, beside the direct ones. A
	// user needs them; whoever reads other sites can leave it empty.
	Links []string `json:"-"`
}

// Site is the interactions of a site; the first is its home page.
type Site []Interaction

// Index is the place of the interaction of a name, in whatever case and with
// whatever spaces; -1: none.
func (s Site) Index(name string) int {
	for i, x := range s {
		if plain(x.Name) == plain(name) {
			return i
		}
	}
	return -1
}

// plain is a name without what differs between ways to write it.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t_-", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// Names are those of the interactions, in order.
func (s Site) Names() []string {
	names := make([]string, len(s))
	for i, x := range s {
		names[i] = x.Name
	}
	return names
}

// Prepared is the site with the paths that were left out. The error says which
// interaction is wrong.
func (s Site) Prepared() (Site, error) {
	out := make(Site, len(s))
	seen := make(map[string]bool)
	for i, x := range s {
		if x.Path == "" {
			x.Path = "/" + x.Name
		}
		switch {
		case x.Name == "" || seen[plain(x.Name)]:
			return nil, fmt.Errorf("interaction %d has the name %q, which another one has, or none has; give each its own", i+1, x.Name)
		case !strings.HasPrefix(x.Path, "/") || strings.ContainsAny(x.Path, "?# \t\r\n"):
			return nil, fmt.Errorf("interaction %s has the path %q; a path begins with a slash, without a query and spaces", x.Name, x.Path)
		}
		for field, text := range x.Fill {
			if _, err := parseFill(text); err != nil {
				return nil, fmt.Errorf("interaction %s: field %s: %w", x.Name, field, err)
			}
		}
		seen[plain(x.Name)], out[i] = true, x
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("a site needs interactions; the first is its home page")
	}
	out[0].Direct = true
	return out, nil
}

// Account is the nickname and the password of an account, numbered from 1: those
// of RUBBoS, and of the built-in board.
func Account(number int) (nickname, password string) {
	n := strconv.Itoa(number)
	return "user" + n, "password" + n
}

// Board is the bulletin board that scalebench has built in. Its interactions
// are those of RUBBoS, with the names of that benchmark. "/" is its home page,
// too.
func Board() Site {
	account := func(more map[string]string) map[string]string {
		more["nickname"], more["password"] = "nickname", "password"
		return more
	}
	s := Site{
		{Name: "StoriesOfTheDay", Direct: true, Links: []string{"ViewStory"}},
		{Name: "Register", Direct: true, Links: []string{"RegisterUser"}},
		{Name: "RegisterUser", Write: true, Fill: map[string]string{
			"firstname": "words 1", "lastname": "words 1", "nickname": "new_name", "email": "new_name", "password": "=secret"}},
		{Name: "Browse", Direct: true, Links: []string{"BrowseCategories", "OlderStories"}},
		{Name: "BrowseCategories", Direct: true, Links: []string{"BrowseStoriesInCategory"}},
		{Name: "BrowseStoriesInCategory", Links: []string{"ViewStory"}},
		{Name: "OlderStories", Direct: true, Links: []string{"ViewStory"}},
		{Name: "ViewStory", Links: []string{"ViewComment", "PostComment"}},
		{Name: "PostComment", Links: []string{"StoreComment"}},
		{Name: "StoreComment", Write: true, Fill: account(map[string]string{"subject": "words 4", "body": "text 300"})},
		{Name: "ViewComment", Links: []string{"ViewComment", "PostComment", "ModerateComment"}},
		{Name: "ModerateComment", Links: []string{"StoreModeratorLog"}},
		{Name: "StoreModeratorLog", Write: true, Fill: account(map[string]string{})},
		{Name: "SubmitStory", Direct: true, Links: []string{"StoreStory"}},
		{Name: "StoreStory", Write: true, Fill: account(map[string]string{"title": "words 5", "body": "text 1000"})},
		{Name: "Search", Direct: true, Links: []string{"SearchInStories", "SearchInComments", "SearchInUsers"}},
		{Name: "SearchInStories", Fill: map[string]string{"search": "words 1"}, Links: []string{"ViewStory"}},
		{Name: "SearchInComments", Fill: map[string]string{"search": "words 1"}, Links: []string{"ViewComment"}},
		{Name: "SearchInUsers", Fill: map[string]string{"search": "nickname"}},
		{Name: "AuthorLogin", Direct: true, Links: []string{"AuthorTasks"}},
		{Name: "AuthorTasks", Fill: account(map[string]string{}), Links: []string{"ReviewStories"}},
		{Name: "ReviewStories", Links: []string{"AcceptStory", "RejectStory"}},
		{Name: "AcceptStory", Write: true, Links: []string{"ReviewStories"}},
		{Name: "RejectStory", Write: true, Links: []string{"ReviewStories"}},
	}
	for i := range s {
		s[i].Path = "/" + s[i].Name
	}
	return s
}
