//go:build !linux

package network

import "os"

// memoryFile returns an empty file without a name; the page cache keeps it in
// memory.
func memoryFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "object")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
