// Package capacity turns windows of load into the load that a server can take
// under a service-level agreement (SLA).
//
// The way of a search:
//
//  1. Generators offer a load for a window ([Window]); package load records it,
//     and the windows of several generators are added up count by count.
//  2. [SLA.Judge] says whether the window kept the SLA. An operation that
//     failed, was dropped or did not end counts as slower than any limit.
//  3. A window counts only if it says something about the target. One that
//     failed because the generators were late is repeated, and so is one during
//     which the path to the target was another ([Config.Evaluate]).
//  4. What counts goes to a search algorithm (package search), which names the
//     next load.
//  5. In the end [Result] says between which loads the boundary lies, how sure
//     that is, and what was at its limit: the target, the path, or the
//     generators, and then no capacity is reported.
//
// Everything is computed from the windows, so that a search can be continued,
// or judged anew, from what is stored. The method is that of the
// black-box throughput paper (docs/capacity.md), corrected as
// docs/capacity-search.md says.
package capacity
