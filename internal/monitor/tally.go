package monitor

// tally adds up what a counter of one device gained since it was first seen.
// Sums over devices are sums of tallies: a device that comes, goes or is reset
// must not make them jump.
type tally struct {
	last, total uint64
	seen        bool
}

func (t *tally) add(raw uint64) {
	if t.seen {
		t.total += gain(t.last, raw)
	}
	t.last, t.seen = raw, true
}

// gain is how far a counter went from one reading to the next. One that went
// back has passed 2³², where the kernel counts in 32 bits (times of disks,
// bytes of interfaces on 32-bit machines), or was reset and began at 0.
func gain(last, raw uint64) uint64 {
	if raw >= last {
		return raw - last
	}
	if d := uint32(raw - last); last < 1<<32 && d < 1<<31 {
		return uint64(d)
	}
	return raw
}
