package board

import (
	"net/http"
	"slices"
)

// Interaction is one of the board's pages, as a user asks for it.
type Interaction struct {
	// Name is also its path: "/" + Name.
	Name string
	// Write says that it changes the database: it takes the method POST only.
	Write bool

	// page queries and writes the page. Without queries it gets no connection,
	// unless the database has work to do.
	page    func(*visit) error
	queries bool
}

// Method is how the interaction is asked for.
func (i Interaction) Method() string {
	if i.Write {
		return http.MethodPost
	}
	return http.MethodGet
}

// Interactions are the 24, in the order of the RUBBoS tables. The first is home,
// which is at the path "/" as well.
func Interactions() []Interaction {
	return []Interaction{
		{Name: "StoriesOfTheDay", page: storiesOfTheDay, queries: true},
		{Name: "Register", page: register},
		{Name: "RegisterUser", page: registerUser, queries: true, Write: true},
		{Name: "Browse", page: browse},
		{Name: "BrowseCategories", page: browseCategories, queries: true},
		{Name: "BrowseStoriesInCategory", page: browseStoriesInCategory, queries: true},
		{Name: "OlderStories", page: olderStories, queries: true},
		{Name: "ViewStory", page: viewStory, queries: true},
		{Name: "PostComment", page: postComment, queries: true},
		{Name: "StoreComment", page: storeComment, queries: true, Write: true},
		{Name: "ViewComment", page: viewComment, queries: true},
		{Name: "ModerateComment", page: moderateComment, queries: true},
		{Name: "StoreModeratorLog", page: storeModeratorLog, queries: true, Write: true},
		{Name: "SubmitStory", page: submitStory, queries: true},
		{Name: "StoreStory", page: storeStory, queries: true, Write: true},
		{Name: "Search", page: search},
		{Name: "SearchInStories", page: searchInStories, queries: true},
		{Name: "SearchInComments", page: searchInComments, queries: true},
		{Name: "SearchInUsers", page: searchInUsers, queries: true},
		{Name: "AuthorLogin", page: authorLogin},
		{Name: "AuthorTasks", page: authorTasks, queries: true},
		{Name: "ReviewStories", page: reviewStories, queries: true},
		{Name: "AcceptStory", page: acceptStory, queries: true, Write: true},
		{Name: "RejectStory", page: rejectStory, queries: true, Write: true},
	}
}

// named returns the index of an interaction; -1 if there is none.
func named(all []Interaction, name string) int {
	return slices.IndexFunc(all, func(i Interaction) bool { return i.Name == name })
}
