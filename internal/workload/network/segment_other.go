//go:build !linux

package network

import (
	"fmt"
	"syscall"
)

// smallSegments is for Linux only.
func smallSegments(size int) func(network, address string, c syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error {
		return fmt.Errorf("packets of %d bytes need Linux: %w", size, errFatal)
	}
}
