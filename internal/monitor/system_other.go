//go:build !linux

package monitor

// deviceNumber: only Linux has numbers of /proc/diskstats to find.
func deviceNumber(string) (major, minor uint64, ok bool) { return 0, 0, false }

// socketQueues: nor is there anything to ask for the queues of sockets.
func socketQueues() source { return nil }
