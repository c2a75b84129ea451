//go:build !linux

package kernel

// Links: only Linux has the files that this package reads.
func Links() []Link { return nil }
