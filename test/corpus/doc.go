// Package corpus asks every question about runs and tables that are made from seeds,
// and holds the answers against those of before. A change of the code that is meant to
// change no answer passes; one that changes an answer shows which.
//
// What is recorded of an answer stands in testdata/record.txt, a block a case, a line a
// fact: the exit code, the verdicts, every number by its place in the JSON, the code,
// severity and subject of every doubt, and the codes of reasons that have none of their
// own. Numbers may differ by one part in 10^12. A list of more than three elements is
// recorded by column: how many numbers, the first and the last, their sum and the sum of
// their squares; of words how many of each. Sentences are not compared: they may be put
// in other words.
//
// Of questions about service levels (inOrder in flat_test.go) more is recorded: the order
// of a list's elements, and the parts and numbers of doubts.
//
// Reasons that are sentences and have no code get one from testdata/codes.tsv: the first
// row whose pattern matches from the beginning of the sentence. Its group "part", if it
// has one, is the subject. A sentence that no row matches is an error, so the table is
// complete for what the corpus asks.
//
// How an answer may change:
//
//  1. The test names the case, the line, what it was ("want") and what it is ("got").
//  2. If that is intended, add a row to testdata/differences.tsv: case, line, from, to,
//     reason. Case, line, from and to may have "*" for any text, so that one row says of
//     all cases what one change does. "-" is a line that is not there.
//  3. The record keeps the value of before. The row allows the new one. A row that
//     allows nothing is an error, and so are more than twenty rows.
//
// `go test ./test/corpus -update` records new cases and forgets those that are gone. It
// changes no line of a case that is there: that takes a row. To begin a new list, when
// the rows are history, delete record.txt and the rows and run it.
//
// testdata/uncovered.tsv names the codes that no case has, at most ten. The codes that
// there are come from the source (sites_test.go) and from codes.tsv.
package corpus
