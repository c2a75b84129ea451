// Package analysis sets the reading and the analysis of tables beside pandas, polars
// and SciPy: the same file, the same questions, one after another in one run. It holds only tests;
// `make bench-analysis` runs the comparison and prints its table.
//
//  1. A generator makes a campaign of ten million measurements, as CSV and as
//     Parquet: value, time and four facts of each.
//  2. In each round every program is asked for the number of rows, mean, sample
//     SD, quantiles, and mean and SD of every level of every fact: in a process of
//     its own, as its users would ask it.
//     Then for the full report: `scalebench variability`, and what of it NumPy and
//     SciPy have, with either of them (work.py lists it).
//  3. All must say the same. What it took is what the kernel counts of the process.
//  4. The table has the medians of the rounds, and ratios.
package analysis
