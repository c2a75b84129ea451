// Package language holds no code of the program. Its test is the check of
// language that `make lint` runs over the pages, the messages and the code:
//
//  1. a sentence of a page, of a help text or of a message has at most 30
//     words, and only `.`, `?` and `!` end one (sentence.go);
//  2. a paragraph of a page has at most 120 words;
//  3. some constructions and private words are refused, each with what to
//     write instead (constructions.go);
//  4. a line of Go has at most 120 columns (source.go);
//  5. some names of functions and types are refused (names.go).
//
// Pages are all files *.md (markdown.go). Messages and help are the string
// literals of Go code that is not a test, and the descriptions of parameters
// in the tags of fields.
//
// What failed when the check began stands in exceptions.txt, and that list may
// only shrink. A line whose text has been mended must go:
//
//	go test ./test/language -update
//
// removes such lines, and never adds one. Two branches that both removed lines
// may conflict there: keep either side, then run it. A text that moves to
// another file takes its exception along. `-start` fills an empty list with all
// that fails. It was meant for the first time only: who empties the list and
// uses it again gives the reason in the commit.
package language
