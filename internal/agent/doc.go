// Package agent is the process that runs on every node.
//
// Its life:
//
//  1. it joins with a token, or comes back with the identity it kept;
//  2. it kills what an earlier agent that was killed left behind, and turns
//     that agent's unfinished attempts into results with the outcome "lost";
//  3. it says hello with facts and labels, and from then on is heard at least
//     once a heartbeat;
//  4. it takes one task at a time from the queue, runs it in a process group
//     of its own (package runner), and keeps the result on disk;
//  5. it delivers the result until the server has stored it, and only then
//     forgets it and takes the next task;
//  6. on SIGTERM it ends the running task, delivers what it can, and says
//     goodbye.
//
// The journal on disk makes steps 4 and 5 safe against kill -9 at any point:
// an attempt is started at most once and its result delivered at least once,
// and the store keeps the first.
package agent
