// Package memory is the built-in memory benchmark: bandwidth of sequential
// copies and triads, and rate and latency of random accesses, over a working
// set beyond the caches.
//
//   - copy: c[i] = a[i], 16 bytes an element of 8 bytes (one read, one
//     written), as STREAM counts (McCalpin 1995, "Memory bandwidth and machine
//     balance in current high performance computers"); the library's memmove.
//   - triad: c[i] = a[i] + s·b[i], 24 bytes an element, as STREAM counts; a
//     scalar loop, because this compiler makes no vector code. Whatever the
//     cache moves in addition (reading a line before it is written) is not
//     counted, in either test.
//   - latency: each thread follows a random cycle through all cache lines of
//     its working set; every access depends on the one before, so none can be
//     predicted, prefetched or overlapped. The time of one access includes
//     what the translation of its address costs.
//
// The tests run one after the other, each for the duration, on all threads at
// once; every test has its own metrics and its own progress series. Every
// result is checked.
package memory
