package cli

import (
	"testing"

	"github.com/scalebench/scalebench/internal/doc/term"
)

// TestASCIIOnly: the first variable that is set decides, and only what names another
// character set asks for ASCII.
func TestASCIIOnly(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		want    bool
	}{
		{nil, false},
		{[]string{"LANG=C"}, true},
		{[]string{"LANG=POSIX"}, true},
		{[]string{"LANG=C.UTF-8"}, false},
		{[]string{"LANG=en_US"}, false},
		{[]string{"LANG=de_DE.utf8@euro"}, false},
		{[]string{"LANG=de_DE.ISO-8859-15@euro"}, true},
		{[]string{"LANG=en_US.UTF-8", "LC_ALL=C"}, true},
		{[]string{"LANG=C", "LC_ALL=", "LC_CTYPE=en_US.UTF-8"}, false},
	} {
		if got := (Env{Environ: tt.environ}).asciiOnly(); got != tt.want {
			t.Errorf("%q: ASCII only %v, want %v", tt.environ, got, tt.want)
		}
	}
	if got := term.ASCII("1.5 ±0.2 µs ≤ 3 × “x” …"); got != `1.5 ~0.2 us <= 3 x "x" ~` {
		t.Errorf("in ASCII it is %q", got)
	}
}
