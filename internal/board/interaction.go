package board

import (
	"slices"

	"github.com/scalebench/scalebench/internal/site"
)

// interaction is one of the board's pages, as a user asks for it. One that writes takes
// the method POST only.
type interaction struct {
	site.Interaction
	page func(*visit) // queries and writes the page
	// queries: without them it gets no connection, unless the database has work to do.
	queries bool
}

// interactions are the 24 of the site, in the order of the RUBBoS tables. The first is
// home, which is at the path "/" as well.
func interactions() []interaction {
	pages := map[string]func(*visit){
		"StoriesOfTheDay": storiesOfTheDay, "Register": register, "RegisterUser": registerUser, "Browse": browse,
		"BrowseCategories": browseCategories, "BrowseStoriesInCategory": browseStoriesInCategory,
		"OlderStories": olderStories, "ViewStory": viewStory, "PostComment": postComment, "StoreComment": storeComment,
		"ViewComment": viewComment, "ModerateComment": moderateComment, "StoreModeratorLog": storeModeratorLog,
		"SubmitStory": submitStory, "StoreStory": storeStory, "Search": search, "SearchInStories": searchInStories,
		"SearchInComments": searchInComments, "SearchInUsers": searchInUsers, "AuthorLogin": authorLogin,
		"AuthorTasks": authorTasks, "ReviewStories": reviewStories, "AcceptStory": acceptStory, "RejectStory": rejectStory,
	}
	fixed := []string{"Register", "Browse", "Search", "AuthorLogin"} // their pages need no query
	var all []interaction
	for _, x := range site.Board() {
		all = append(all, interaction{x, pages[x.Name], !slices.Contains(fixed, x.Name)})
	}
	return all
}
