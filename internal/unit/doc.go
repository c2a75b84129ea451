// Package unit parses, prints and converts the quantities that people write
// into files and flags: durations ("5s", "1h30m"), sizes ("64KiB", "5.3MB")
// and rates ("10Gbit/s", "3125MB/s", "300op/s").
//
// One rule stands above the rest: a quantity has a unit, and the unit has one
// meaning. A bare number is refused, because 64 might be seconds or minutes,
// bytes or megabytes. So are the letters that mean 1000 to some tools and 1024
// to others (K, KB, M, G). What is left is unambiguous:
//
//   - decimal prefixes are powers of 1000: kB, MB, GB, TB, PB, EB;
//   - binary prefixes are powers of 1024: KiB, MiB, GiB, TiB, PiB, EiB;
//   - bits are spelt out: kbit/s, Mbit/s, Gbit/s. A byte is eight bits.
//
// Units are case sensitive; where the case alone is wrong the error names the
// right spelling. Printing and parsing are inverse: parsing what String
// printed gives the same value, exactly.
//
// The types implement encoding.TextMarshaler and TextUnmarshaler, so that they
// are strings in JSON and in experiment files; package experiment maps them to
// the patterns [DurationPattern], [SizePattern] and [RatePattern] in the JSON
// Schema.
package unit
