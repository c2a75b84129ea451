// Package board is the built-in application of n-tier experiments: a bulletin
// board with 24 interactions with service demands that are known by construction.
//
// It is a measured object, not a measuring instrument: how many worker threads
// it has, how many connections to the database, and how much processor time an
// interaction takes in each tier is set, so that laws say what must be measured.
//
// The way of a request:
//
//  1. A connection is accepted, from a queue of a set length (listen.go).
//  2. The request waits for a worker thread (limiter.go), which works on nothing
//     else until the answer is written.
//  3. In the roles web and router it is forwarded over a connection that is kept
//     (forward.go, upstream.go).
//  4. In the role app it waits for a connection to the database (pool.go); the
//     interaction (stories.go, comments.go, search.go, users.go, authors.go)
//     queries and writes its page (page.go); then the database works for as long
//     as it was told, and the connection is free again.
//  5. The thread works for as long as it was told: until its own processor time
//     has grown by that much (work.go, spin_linux.go).
//  6. The answer is written and counted (status.go).
//
// [Load] fills a database deterministically (data.go), [Check] says whether it is
// as loaded, and [Calibrate] measures what a unit of the database's work costs.
package board
