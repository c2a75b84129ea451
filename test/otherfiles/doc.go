// Package otherfiles reads files that other programs wrote, beside a second reader. It holds
// only tests.
//
//  1. parquet.py draws Parquet files at random: pyarrow, polars, DuckDB and pandas write them,
//     with codecs, pages, encodings, types and missing values of their own. pyarrow reads each
//     again and says how many values it has, their mean and COV, and the first and last time.
//     The test must find the same figures, or refuse the file and name the cause.
//  2. Results of Go benchmarks that the module golang.org/x/perf carries are read beside its
//     own command, benchstat: the same benchmarks must have the same medians.
//  3. dialects.py draws tables in dialects of CSV and JSON at random, beside pandas.
//
// `make tables-proof` draws files; the rest is in `make test`.
package otherfiles
