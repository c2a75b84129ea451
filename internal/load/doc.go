// Package load offers load to a server and records what became of it.
//
// The way of an operation:
//
//  1. A [Plan] says when operations are due: at a rate that is constant or
//     Poisson, in stages that hold or ramp (open loop), or whenever one of so
//     many users has thought for long enough (closed loop). A [Schedule]
//     computes the times, one generator's or loop's share of them.
//  2. A [Driver] sends what is due over connections that stay open from run to
//     run: package load/http1 with an event loop per core, or a [Pool] of
//     clients, each of which does one operation at a time.
//  3. What became of each operation is counted in a [Shard], one a loop, in
//     the second in which the operation was due.
//  4. A [Collector] merges the shards' seconds and hands them on in order.
//
// Latency counts from the moment at which an operation was due, not from when
// it was sent: a server that stalls delays what should have been sent
// meanwhile, and a generator that sends late hides nothing (Gil Tene's
// "coordinated omission"). How late operations were sent is counted beside it.
//
// Every operation that was due is in exactly one of the counts OK, Errors,
// Dropped and Unfinished of [Counts]; none is left out for having been slow.
package load
