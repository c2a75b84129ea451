// Package parquetfiles reads Parquet files that other programs wrote, beside a second
// reader. It holds only tests.
//
//  1. draw.py draws files at random: pyarrow, polars, DuckDB and pandas write them, with
//     codecs, pages, encodings, types and missing values of their own. pyarrow reads each
//     again and says how many values it has, their mean and COV, and the first and last time.
//  2. The test reads the same files. It must find the same figures, or refuse the file and
//     name the cause; whatever it refuses must be of a kind that cannot be read.
package parquetfiles
