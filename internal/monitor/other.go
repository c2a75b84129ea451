//go:build !linux

package monitor

// systemLinks: only Linux has the files that this package reads.
func systemLinks() []link { return nil }

// deviceNumber: there are no numbers of /proc/diskstats to find.
func deviceNumber(string) (major, minor uint64, ok bool) { return 0, 0, false }

type diag struct{}

func newDiag() *diag { return nil }

func (*diag) read(emit) {}

func (*diag) close() {}
