package lab

// Owner identifies a process beyond the reuse of its id.
type Owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot: field 22 of /proc/PID/stat
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
	// Space is the PID namespace in which PID counts.
	Space string `json:"space"`
}
