// Package master executes runs: it is the one place that decides.
//
// The life of a run:
//
//  1. Submit parses the file, selects the nodes, lays out the steps, and stores
//     run, nodes and steps in one transaction (service.go);
//  2. it waits until its nodes and their hosts are free, and leases them: two
//     runs on one host would measure each other (leases.go);
//  3. a fleet of this machine is brought up, its nodes are recorded (run.go), and
//     asked for the programs that the workloads need (needs.go);
//  4. before a step its nodes may not be at work on anything else (nodes.go);
//  5. for every step it begins an attempt, dispatches the tasks, waits until
//     all nodes are ready, and names an absolute start (step.go);
//  6. results are stored as they come and only then confirmed to the agents
//     (handlers.go); while the store fails, agents keep them;
//  7. a step whose tasks all ended well is complete; otherwise the retry policy
//     tells a task that failed from a node that was lost (step.go);
//  8. the run ends done, incomplete, cancelled or interrupted; everything but
//     done can be resumed. One that waits for its time gives its nodes back
//     meanwhile, and gets in line again (run.go).
//
// Nodes are watched by heartbeats and leases (registry.go): a node that is
// heard late is slow, and only one not heard for a whole lease is lost.
package master
