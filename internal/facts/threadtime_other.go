//go:build !linux

package facts

import "time"

// threadTime is the time, where the processor time of a thread is not known.
func threadTime() time.Duration { return time.Since(process) }
