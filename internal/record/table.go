package record

import (
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
)

// column is a column of text, number one of numbers.
func column(key, head string) doc.Column { return doc.Column{Key: key, Head: head} }

func number(key, head string) doc.Column { return doc.Column{Key: key, Head: head, Right: true} }

// hidden is a column for programs alone.
func hidden(key string) doc.Column { return doc.Column{Key: key, For: doc.Programs} }

// say is a cell of text.
func say[T ~string](text T) doc.Cell { return doc.Say(string(text)) }

// people is a cell of text that programs do not get.
func people[T ~string](text T) doc.Cell { return doc.Of(nil, string(text)) }

// fields are pairs of a label and a text; those without text are left out.
func fields(labelled ...string) (out []doc.Field) {
	for pair := range slices.Chunk(labelled, 2) {
		if pair[1] != "" {
			out = append(out, doc.Field{Label: pair[0], Text: pair[1]})
		}
	}
	return out
}

// Listing is a document of one table; none says that it has no rows.
func Listing(t *doc.Table, none string) *doc.Document {
	if len(t.Rows) == 0 {
		return &doc.Document{Data: t, Answer: none}
	}
	return &doc.Document{Data: t, Sections: []doc.Section{{Blocks: []doc.Block{{Table: t}}}}}
}
