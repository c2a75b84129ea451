// Package objectstore measures an S3 object store: how many bytes and how many
// operations a second a node puts into it or gets out of it (section
// 3.4 of the ScaleBench paper).
//
// The way of one task:
//
//  1. The endpoint, the region and the credentials are found as the field does
//     it: parameters, then the usual variables, files and metadata services.
//     Credentials stay in this process; whatever is printed is searched for
//     them (client.go, credentials.go).
//  2. Prepare looks at the bucket, and takes a directory of the task's own in
//     it: "<prefix>/task-<uuid>/", with a lease object that is renewed while
//     the task lives (lease.go). Directories whose lease has run out are what
//     crashed tasks left behind, and are removed (sweep.go).
//  3. Prepare makes the payload, random bytes in memory, of which every object
//     gets its own view (payload.go), puts what is to be got, and opens the
//     connections.
//  4. Run starts the workers. Each does one operation after the other
//     (worker.go, operation.go). An operation that fails is tried again as
//     often as allowed; every failed attempt is counted by its kind
//     (errors.go), and none is work done.
//  5. Progress is told in retrospect (ledger.go): a reading is published when
//     everything that it saw under way has ended, and contains the bytes and
//     operations of what succeeded. So a series never counts a byte of a failed
//     transfer and never goes down. By count, it ends at exactly the completed
//     bytes; by duration, at the deadline, whatever still ends later
//     (series.go).
//  6. Run reports throughput, rates, latencies (tally.go), and fails when more
//     operations failed than the user allows.
//  7. Cleanup removes the directory.
package objectstore
