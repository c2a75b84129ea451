package monitor

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// source is something to read metrics from.
type source interface {
	read(out emit)
	close()
}

// buffer is shared by the files of a recording; it grows to the largest.
type buffer struct{ b []byte }

// file is a file of the kernel that stays open: its text is made anew at each
// reading from its beginning.
type file struct {
	f     *os.File
	buf   *buffer
	parse func([]byte, emit)
}

// read skips a file that cannot be read: its metrics are missing then.
func (f *file) read(out emit) {
	n, err := f.f.ReadAt(f.buf.b, 0)
	for err == nil && n == len(f.buf.b) { // there may be more
		f.buf.b = slices.Grow(f.buf.b, len(f.buf.b))[:2*len(f.buf.b)]
		n, err = f.f.ReadAt(f.buf.b, 0)
	}
	if errors.Is(err, io.EOF) {
		f.parse(f.buf.b[:n], out)
	}
}

func (f *file) close() { _ = f.f.Close() } // nothing was written to it

// fileSize is what most files of /proc fit into, in bytes.
const fileSize = 16 << 10

// open returns the sources that this machine has.
func (m *Monitor) open() []source {
	var list []source
	buf := &buffer{make([]byte, fileSize)}
	add := func(name string, parse func([]byte, emit)) {
		if name == "" {
			return
		}
		if f, err := os.Open(name); err == nil {
			list = append(list, &file{f, buf, parse})
		}
	}
	for _, f := range m.files() {
		add(filepath.Join(m.cfg.Root, f.name), f.parse)
	}
	groups := findCgroups(m.cfg.Root)
	add(groups.usage1, parseUsage1)
	add(groups.stat1, parseStat1)
	add(groups.stat2, parseStat2)
	add(groups.memory, parseMemory)
	if d := m.cfg.diag(); d != nil {
		list = append(list, d)
	}
	return list
}

// procFile is a file and what reads it.
type procFile struct {
	name  string
	parse func([]byte, emit)
}

func (m *Monitor) files() []procFile {
	sys := filepath.Join(m.cfg.Root, "sys")
	return []procFile{
		{"proc/stat", parseStat},
		{"proc/meminfo", parseMeminfo},
		{"proc/vmstat", vmstatParser(m.cfg.pageSize)},
		{"proc/diskstats", newDisks(sys, m.volumes()).parse},
		{"proc/net/dev", newNetwork(m.cfg.links).parse},
		{"proc/net/snmp", parseSNMP},
		{"proc/pressure/cpu", pressureParser("psi.cpu_some", "")},
		{"proc/pressure/memory", pressureParser("psi.memory_some", "psi.memory_full")},
		{"proc/pressure/io", pressureParser("psi.io_some", "psi.io_full")},
	}
}

// volumes finds the devices of the node's volumes, by name.
func (m *Monitor) volumes() []volume {
	var list []volume
	for name, path := range m.cfg.Volumes {
		if major, minor, ok := deviceNumber(path); ok {
			list = append(list, volume{name: name, major: major, minor: minor})
		}
	}
	slices.SortFunc(list, func(a, b volume) int { return cmp.Compare(a.name, b.name) })
	return list
}
