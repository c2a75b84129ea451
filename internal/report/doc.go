// Package report shows what a run found, to people and to programs.
//
//  1. [Findings] prints the table of the CDI, with its intervals, verdicts and
//     warnings; [Bars] draws it in a few lines of text.
//  2. [Runs], [Nodes] and [Show] print what the store and the fleet hold.
//  3. [Ranking] and [Scalings] answer which resource is lost first and how
//     totals grow with the fleet; [HostNotes] judges what the monitor saw.
//  4. [Capacities] answers what load a target takes; its pictures are drawn from
//     windows that are added up, never averaged.
//  5. [HTML] writes one self-contained page with figures: no network, no
//     script that it needs. [PlanHTML] and [PlanSVG] do the same for a plan.
//
// Nothing is measured or estimated here: values, intervals and verdicts are
// those of the findings and the searches, and all that is added is counts,
// differences of times that the results carry, rates of the counters that
// workloads published, and percentiles of what was recorded.
// Every text that came from outside is made safe before it is shown.
//
// The parts: doc/num prints values, report/table lays out tables,
// report/svg writes drawings, report/figure draws the charts.
package report
