// Package network measures the throughput between nodes, and the round-trip
// time beside it (section 3.3 of the ScaleBench paper: pairs of nodes
// download a file of 100 MB from each other over several connections at once).
//
// Who connects to whom is decided by the plan (workload.Paired): a task with
// Env.Peers is a client and measures; a task with Env.Clients serves; it may
// be both. What happens, in order:
//
//  1. Prepare puts the object into memory and begins to serve it, before any
//     node may start, so that nobody finds a closed port;
//  2. Run connects. During the first half of the warm-up, at most a second,
//     nobody transfers: the round-trip time of the idle network;
//  3. all connections transfer: HTTP/1.1 GET to receive, PUT to send. The
//     kernel copies: sendfile from memory on one side, receive and discard
//     (MSG_TRUNC) on the other, so that the network and not a copy loop is
//     what ends growth;
//  4. when the warm-up is over, bytes are counted: those that arrived here,
//     and of those sent only what the peer's TCP has acknowledged;
//  5. the client says goodbye; the server goes on until every client has, or
//     one has been silent for too long.
//
// With iperf3 as the tool, step 3 and 4 are left to it; the rest is the same.
package network
