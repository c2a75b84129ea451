// Package sqlstore is store.Store written once in SQL; the packages sqlite and
// postgres add a [Dialect], a connection and their migrations.
//
// The way of a result into the database:
//
//  1. PutResult checks it and encodes its texts, outputs and series in the
//     caller's goroutine (text.go, pack.go, series.go);
//  2. it joins the batch that is waiting (group.go): one transaction, and so
//     one fsync, stores what many agents delivered at the same moment;
//  3. the batch reads the steps' current attempts under a lock, judges every
//     result by itself (new, duplicate, stale, no such task) and inserts the
//     new ones (results.go);
//  4. only after the commit is each caller answered. When the batch fails for
//     a reason that lies in one of its results, each is tried alone, so that
//     a bad result never takes a good one with it.
//
// Data goes the other way: one read transaction, so that a run is seen as it
// was at one moment (data.go).
package sqlstore
