package board

import (
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
)

// query is a statement in the two dialects, which differ in how they write
// arguments.
type query struct{ mysql, postgres string }

// sqlOf makes a query from one with ? for each argument.
func sqlOf(text string) query {
	var numbered strings.Builder
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			numbered.WriteString("$" + strconv.Itoa(i))
		}
		numbered.WriteString(part)
	}
	return query{mysql: text, postgres: numbered.String()}
}

// in is the query in the dialect of a database.
func (q query) in(store *sqlkv.Store) string {
	if store.Postgres() {
		return q.postgres
	}
	return q.mysql
}

// either is two queries that differ in the table: of current, and of old stories
// or comments.
type either [2]query

// sqlOfEither makes both from one that writes the tables {stories} and
// {comments}.
func sqlOfEither(text string) either {
	text = strings.ReplaceAll(text, "}", "")
	return either{sqlOf(strings.ReplaceAll(text, "{", "")), sqlOf(strings.ReplaceAll(text, "{", "old_"))}
}

// query is that of the tables that the visit is about.
func (v *visit) query(e either) query {
	if v.old {
		return e[1]
	}
	return e[0]
}

// hosts makes one URL for each host of a URL that names several,
// mysql://user:password@h1:3306,h2:3306/database.
func hosts(url string) ([]string, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return nil, model.Usagef("a database is named by its URL, as in " +
			"mysql://user:password@host:3306/board or postgres://user:password@host:5432/board")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@") + 1
	var each []string
	for host := range strings.SplitSeq(rest[at:end], ",") {
		each = append(each, scheme+"://"+rest[:at]+host+rest[end:])
	}
	return each, nil
}
