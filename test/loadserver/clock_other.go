//go:build !linux

package loadserver

import "time"

// monotonic: servers run on Linux only; this is so that the rest compiles.
func monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }
