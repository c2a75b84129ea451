// Package texts holds no code, only the test that sentences are not data: no package of the
// program compares, searches, cuts or converts a caveat.Text, except those that show it.
//
// The test type-checks every package against the compiler's export data, so that a text is
// found behind whatever name it has: a field of another package, an element of a slice.
package texts
