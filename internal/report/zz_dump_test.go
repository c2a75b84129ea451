package report

import (
	"os"
	"testing"
)

func TestZZDump(t *testing.T) {
	for name, c := range map[string]pageCase{"lab": labCase, "big": bigLab, "mixed": cases()["mixed"]} {
		d, fs, o := c()
		s := renderWith(t, d, fs, o)
		os.WriteFile("/tmp/rep/"+name+".html", []byte(s), 0o644)
	}
}
