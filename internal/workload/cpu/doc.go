// Package cpu is the built-in processor benchmark: how many operations a
// second the threads of a node complete.
//
//  1. Every thread is an operating-system thread that does one operation after
//     the other and publishes its count after each. An operation takes some
//     50 µs on a machine of 2023 and allocates nothing.
//  2. After each operation the thread looks at the clock and stops when the
//     duration is over.
//  3. The result of each operation is compared with a value computed
//     beforehand, so the compiler cannot remove the work, and a processor that
//     miscomputes is found instead of measured.
//  4. Meanwhile one goroutine sums the counts and publishes them five times a
//     second. A sum is right at the moment it is read, whether the threads
//     run or wait for a processor, to one operation a thread.
//
// The operations (see integer.go and float.go): "integer" generates 1,024
// pseudo-random numbers, sorts them and hashes the result; "float" integrates
// the Jovian planets over 500 steps; "mixed" alternates between the two. They
// work within the first-level cache, so that they measure the processor and
// not the memory.
package cpu
