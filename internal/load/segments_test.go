package load

import "testing"

// TestCounter: a value stands in the line after its name, where the kernel has
// both.
func TestCounter(t *testing.T) {
	const table = "Ip: InReceives\nIp: 5\nTcp: Max InSegs Out\nTcp: -1 1234 7\nTcp: 1 2 3\n"
	for _, c := range []struct {
		table, of, name string
		want            int64
		ok              bool
	}{
		{table, "Tcp:", "InSegs", 1234, true},
		{table, "Tcp:", "Max", -1, true},
		{table, "Tcp:", "Out", 7, true},
		{table, "Ip:", "InReceives", 5, true},
		{table, "Ip:", "InSegs", 0, false},
		{table, "Udp:", "InSegs", 0, false},
		{"Tcp: InSegs\n", "Tcp:", "InSegs", 0, false},
		{"Tcp: InSegs Out\nTcp: 4", "Tcp:", "Out", 0, false},
		{"Tcp: InSegs\nTcp: many\n", "Tcp:", "InSegs", 0, false},
		{"", "Tcp:", "InSegs", 0, false},
	} {
		if got, ok := counter([]byte(c.table), c.of, c.name); got != c.want || ok != c.ok {
			t.Errorf("counter(%q, %s, %s) = %d, %v, want %d, %v", c.table, c.of, c.name, got, ok, c.want, c.ok)
		}
	}
}

// FuzzCounter: whatever the kernel writes, what is found stands there.
func FuzzCounter(f *testing.F) {
	f.Add([]byte("Tcp: Max InSegs\nTcp: -1 1234\n"))
	f.Add([]byte("Tcp: InSegs\nTcp:"))
	f.Fuzz(func(t *testing.T, table []byte) {
		if v, ok := counter(table, "Tcp:", "InSegs"); !ok && v != 0 {
			t.Errorf("%d, which is not known", v)
		}
	})
}
