// Package sqlstore is store.Store written once in SQL; the packages sqlite and
// postgres add a [Dialect], a connection and their migrations.
//
// The way of a result into the database:
//
//  1. PutResult checks it and packs it in the caller's goroutine: a row of
//     index columns with one body (body.go), and a row of points for each
//     metric (points.go);
//  2. it joins the batch that is waiting (commit.go): one transaction, and so
//     one fsync, stores what many agents delivered at the same moment;
//  3. the batch reads the steps' current attempts under a lock, judges every
//     result by itself (new, duplicate, stale, no such task) and inserts the
//     new ones (results.go);
//  4. only after the commit is each caller answered. When the batch fails for
//     a reason that lies in one of its results, each is tried alone, so that
//     a bad result never takes a good one with it.
//
// Reading goes the other way: one read transaction, so that a run is seen as
// it was at one moment, whole or column by column (read.go).
package sqlstore
