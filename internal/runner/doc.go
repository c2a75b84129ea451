// Package runner executes one attempt at a task in a process of its own and
// holds both ends of it: [Process] for the agent, [Main] for the child.
//
// The binary starts itself again (the hidden command `scalebench
// run-workload`), so that a timeout can kill everything that a benchmark
// started, the agent stays small, and a kernel that burns all CPUs cannot
// starve the agent's heartbeats.
//
// The life of one attempt:
//
//  1. [Start] makes a scratch directory and starts the child as the leader of
//     a new process group, with two control pipes: file descriptor 3 carries
//     orders to the child, 4 carries its reports. Both speak JSON lines
//     (protocol.go).
//  2. The child decodes the parameters, validates them and prepares;
//     [Process.Ready] tells how that went.
//  3. [Process.Begin] gives the wall-clock time of the start; the child sleeps
//     until then and spins for the last 200 µs at most.
//  4. While the workload runs, its progress, samples and output stream to the
//     agent, which keeps them in bounded memory: whatever happens to the child
//     afterwards, what was measured until then is kept.
//  5. The child ends, or is killed at its timeout, by [Process.Kill], by the
//     end of the context, or by the end of the agent (its control pipe closes).
//  6. Whatever is left of it is killed (kill_linux.go): its process group, its
//     descendants, and processes that carry its cookie in their environment.
//     [Process.Wait] returns after that.
//
// Memory of the agent per running task: two output buffers of
// Spec.OutputLimit, and 16 bytes a progress point. Points come at most every
// 100 ms; beyond 8,000 points a series is thinned to a coarser step, and never
// coarser than one second, the resolution that scoring needs: from then on a
// series grows by 16 bytes a second (10 hours: 36,000 points, 576 kB).
package runner
