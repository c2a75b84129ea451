// Package peers sets the load engine beside other generators, wrk, hey and k6:
// the same server, the same connections, one after another in one run, so that
// what the machine does meanwhile happens to all of them. It holds only tests;
// `make bench-load` runs the comparison and prints its table.
//
//  1. A server (nginx, one process, a static page) gets one processor of the
//     machine, each generator in its turn the other.
//  2. In each round every generator is asked for each load ([job]): as much as
//     it can with 64 connections, and rates. Our own is the process that a task
//     of the workload `load` is for every user.
//  3. What it says becomes an [outcome]; what it cost is asked of the kernel.
//  4. Once a round the packets are recorded beside the engine, and the time
//     from request to answer on the wire is compared with what the engine says.
//  5. The table has the medians of the rounds.
package peers
