package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
)

// The mixes of the built-in board, by their names in a file.
const (
	BrowseOnly = "browse_only"
	ReadWrite  = "read_write"
	Author     = "author"
)

// Mixes are their names.
func Mixes() []string { return []string{BrowseOnly, ReadWrite, Author} }

// Mix is a chain of our own over the interactions of the built-in board, or of a
// site that has interactions of the same names.
func Mix(name string, s site.Site) (*Chain, error) {
	var rows map[string]ways
	switch name {
	case BrowseOnly:
		rows = browsing()
	case ReadWrite:
		rows = writing()
	case Author:
		rows = authoring()
	default:
		return nil, fmt.Errorf("%w: there is no mix %q; the mixes are %v", model.ErrUsage, name, Mixes())
	}
	if lacks := lacking(rows, s); len(lacks) > 0 {
		return nil, fmt.Errorf("%w: the mix %s visits what the site does not have: %s; give a site with interactions of these names, or transitions of your own", model.ErrUsage, name, strings.Join(lacks, ", "))
	}
	weights := make([][]float64, len(s))
	for i := range weights {
		// What the mix does not come to ends the session.
		weights[i] = make([]float64, len(s)+2)
		if _, ok := rows[s[i].Name]; !ok {
			weights[i][len(s)+1] = 1
		}
	}
	for from, row := range rows {
		for to, w := range row {
			k := s.Index(to)
			switch to {
			case back:
				k = len(s)
			case end:
				k = len(s) + 1
			}
			weights[s.Index(from)][k] = float64(w)
		}
	}
	return newChain(s, weights)
}

// lacking are the interactions of a mix that the site does not have, sorted. All that a
// mix comes to is a row of its own.
func lacking(rows map[string]ways, s site.Site) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(rows)), func(name string) bool { return s.Index(name) >= 0 })
}

// ways are where users go from an interaction, of a thousand.
type ways map[string]int

const (
	back = NameBack
	end  = NameEnd
	home = "StoriesOfTheDay"
)

// browsing is for users who read: half of what they do is to look at stories and
// comments.
func browsing() map[string]ways {
	return map[string]ways{
		home:                      {"ViewStory": 620, "Browse": 80, "OlderStories": 80, "Search": 80, end: 140},
		"Browse":                  {"BrowseCategories": 600, "OlderStories": 200, back: 100, home: 100},
		"BrowseCategories":        {"BrowseStoriesInCategory": 850, back: 100, home: 50},
		"BrowseStoriesInCategory": {"ViewStory": 650, back: 200, home: 150},
		"OlderStories":            {"ViewStory": 650, back: 150, home: 200},
		"ViewStory":               {"ViewComment": 500, back: 250, home: 180, end: 70},
		"ViewComment":             {"ViewComment": 350, back: 370, home: 190, end: 90},
		"Search":                  {"SearchInStories": 600, "SearchInComments": 200, "SearchInUsers": 100, home: 100},
		"SearchInStories":         {"ViewStory": 600, back: 200, home: 200},
		"SearchInComments":        {"ViewComment": 600, back: 200, home: 200},
		"SearchInUsers":           {back: 500, home: 500},
	}
}

// writing is for users who also register, comment, moderate and submit stories.
func writing() map[string]ways {
	rows := browsing()
	rows[home] = ways{"ViewStory": 600, "Browse": 60, "OlderStories": 60, "Search": 60, "Register": 20, "SubmitStory": 110, end: 90}
	rows["ViewStory"] = ways{"ViewComment": 450, "PostComment": 200, back: 150, home: 130, end: 70}
	rows["ViewComment"] = ways{"ViewComment": 260, "PostComment": 180, "ModerateComment": 160, back: 200, home: 120, end: 80}
	rows["Register"] = ways{"RegisterUser": 900, home: 100}
	rows["RegisterUser"] = ways{home: 850, end: 150}
	rows["PostComment"] = ways{"StoreComment": 900, back: 100}
	rows["StoreComment"] = ways{home: 850, end: 150}
	rows["ModerateComment"] = ways{"StoreModeratorLog": 900, back: 100}
	rows["StoreModeratorLog"] = ways{home: 850, end: 150}
	rows["SubmitStory"] = ways{"StoreStory": 900, home: 100}
	rows["StoreStory"] = ways{home: 850, end: 150}
	return rows
}

// authoring is for authors, who also accept and reject stories.
func authoring() map[string]ways {
	rows := writing()
	rows[home] = ways{"ViewStory": 450, "Browse": 50, "OlderStories": 50, "Search": 50, "Register": 10, "SubmitStory": 90, "AuthorLogin": 210, end: 90}
	rows["AuthorLogin"] = ways{"AuthorTasks": 950, home: 50}
	rows["AuthorTasks"] = ways{"ReviewStories": 900, home: 80, end: 20}
	rows["ReviewStories"] = ways{"AcceptStory": 450, "RejectStory": 450, home: 100}
	rows["AcceptStory"] = ways{"ReviewStories": 550, home: 350, end: 100}
	rows["RejectStory"] = ways{"ReviewStories": 550, home: 350, end: 100}
	return rows
}
