//go:build !linux

package runner

import "time"

// sleep is as precise as the runtime's timers.
func sleep(d time.Duration) { <-time.After(d) }
