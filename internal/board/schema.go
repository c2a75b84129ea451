package board

import (
	"fmt"
	"slices"
	"strings"
)

// table is one of the board's.
type table struct {
	name    string
	columns []column
	primary string // columns of the primary key
	unique  string // a column that has a value once, or ""
	indexes []string
}

// column has values of 64 bits, or text of at most so many characters.
type column struct {
	name string
	text int
}

// long is the width of text that no key holds.
const long = maxBody

func columnsOf(names string) []column {
	var columns []column
	for name := range strings.FieldsSeq(names) {
		c := column{name: name}
		switch name {
		case "name", "nickname", "password":
			c.text = maxName
		case "title", "subject", "firstname", "lastname", "email":
			c.text = maxTitle
		case "body":
			c.text = long
		}
		columns = append(columns, c)
	}
	return columns
}

// tables are all tables but the one that describes the data, in the order in
// which they are loaded.
func tables() []table {
	stories := columnsOf("id title body date writer category")
	comments := columnsOf("id story_id parent childs rating writer date subject body")
	const byDate, byParent, ofStory = "date, id", "story_id, parent, id", "story_id, id"
	return []table{
		{name: "categories", columns: columnsOf("id name"), primary: "id"},
		{name: "users", columns: columnsOf("id nickname password firstname lastname email access rating date"),
			primary: "id", unique: "nickname"},
		{name: "stories", columns: stories, primary: "id", indexes: []string{byDate, "category, date, id", "title, id"}},
		{name: "old_stories", columns: stories, primary: "id", indexes: []string{byDate}},
		{name: "submissions", columns: stories, primary: "id"},
		{name: "comments", columns: comments, primary: ofStory, indexes: []string{byParent, "subject, id"}},
		{name: "old_comments", columns: comments, primary: ofStory, indexes: []string{byParent}},
		{name: "moderator_log", columns: columnsOf("id moderator story_id comment_id rating date"), primary: "id"},
	}
}

// names are those of the columns.
func (t table) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// create is the statements that make it, in PostgreSQL or in MySQL.
func (t table) create(postgres bool) []string {
	if !postgres {
		return []string{t.mysql("UNIQUE KEY") + " ENGINE=InnoDB " + mysqlText}
	}
	made := []string{t.statement("UNIQUE", ` COLLATE "C"`)}
	for _, index := range t.indexes {
		made = append(made, "CREATE INDEX ON "+t.name+" ("+index+")")
	}
	return made
}

// statement makes the table with its columns and keys, and with others that are written
// in it; unique is how the key of a unique column is named.
func (t table) statement(unique, collation string, others ...string) string {
	var lines []string
	for _, c := range t.columns {
		kind := "BIGINT"
		switch c.text {
		case 0:
		case long:
			kind = "TEXT"
		default:
			kind = fmt.Sprintf("VARCHAR(%d)%s", c.text, collation)
		}
		lines = append(lines, c.name+" "+kind+" NOT NULL")
	}
	lines = append(lines, "PRIMARY KEY ("+t.primary+")")
	if t.unique != "" {
		lines = append(lines, unique+" ("+t.unique+")")
	}
	return "CREATE TABLE " + t.name + " " + listOf(append(lines, others...))
}

func listOf(words []string) string { return "(" + strings.Join(words, ", ") + ")" }

// mysqlText has texts compared by their characters' numbers, as PostgreSQL's "C"
// does.
const mysqlText = "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"

// mysql is the statement without the table's options.
func (t table) mysql(unique string) string {
	var keys []string
	for _, index := range t.indexes {
		keys = append(keys, "KEY ("+index+")")
	}
	return t.statement(unique, "", keys...)
}

// partitioned is the statement that makes it on an SQL node: a Spider table, with
// one partition on each of these servers. Every unique key must have the column by which it
// is partitioned in it, so that only the primary key can be unique.
func (t table) partitioned(servers []string) string {
	part, _, _ := strings.Cut(t.primary, ",")
	parts := make([]string, len(servers))
	for i, server := range servers {
		parts[i] = fmt.Sprintf(`PARTITION p%d COMMENT='srv "%s"'`, i+1, server)
	}
	return fmt.Sprintf(`%s ENGINE=SPIDER %s COMMENT='wrapper "mysql", table "%s"' PARTITION BY KEY (%s) %s`,
		t.mysql("KEY"), mysqlText, t.name, part, listOf(parts))
}

// sums is a query for how many rows there are, and for each column the sum of its
// values, or of the lengths of its texts.
func (t table) sums() string {
	parts := []string{"COUNT(*)"}
	for _, c := range t.columns {
		value := c.name
		if c.text > 0 {
			value = "OCTET_LENGTH(" + c.name + ")"
		}
		parts = append(parts, "COALESCE(SUM("+value+"), 0)")
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + t.name
}

// key are the values of a row's primary key.
func (t table) key(row []any) []any {
	var key []any
	for name := range strings.SplitSeq(t.primary, ", ") {
		key = append(key, row[slices.Index(t.names(), name)])
	}
	return key
}

// dataTable describes what was loaded. Without it other tables of these names
// are those of another program.
const dataTable = "board_data"

func createData(postgres bool) string {
	made := "CREATE TABLE " + dataTable + " (name VARCHAR(32) NOT NULL PRIMARY KEY, value TEXT NOT NULL)"
	if !postgres {
		made += " ENGINE=InnoDB"
	}
	return made
}
