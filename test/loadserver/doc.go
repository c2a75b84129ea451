// Package loadserver is an HTTP server with behaviour known by arithmetic, to
// test a load generator: so many workers, an exact service time, a stall of one
// second in every ten, a hundredth of the answers held back.
//
// It computes rather than works. The way of a request:
//
//  1. An event loop, one thread, reads it and notes when ([parse]).
//  2. The [desk] computes at once when it will be answered. Its workers are
//     numbers: the times at which they become free. A request begins when it
//     has arrived and a worker is free, and is done one service time later, in
//     which stalls do not count.
//  3. The same loop sends the answer at that time, to within the precision of
//     the machine's timers, and writes the request down ([Request]).
//
// So service times cost no processor, the server is far from its own limit at
// 20,000 requests a second, and what it says it did is what it did: a test
// compares what a generator measured with the [Record], and the Record with
// queueing theory (package stats).
//
// The server is a process of its own, so that it shares no scheduler with the
// generator: [Start] executes the test's own binary again, and its TestMain
// hands over to [Child]. Linux only, from 5.11 on.
//
// Beside it there is a server that works: [StartNginx].
package loadserver
