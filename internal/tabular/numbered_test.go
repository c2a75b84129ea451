package tabular

import (
	"strings"
	"testing"
)

// TestNumbered: # alone is the name of the first column where the line has as many names
// as the one below has cells; elsewhere the line is a comment.
func TestNumbered(t *testing.T) {
	forms := []Form{{Required: []string{"node", "serial"}, Optional: []string{"#"}}}
	for text, first := range map[string]string{
		"#,node,serial\n0,a,1\n":               "0",
		"#;node;serial\n0;a;1\n":               "0",
		"# made, by, hand\nnode,serial\na,1\n": "a",
		"#,,\nnode,serial,#\na,1,2\n":          "a",
		"#,\nnode,serial,#\na,1,2\n":           "a",
	} {
		r, err := Open("t", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Use(forms, ""); err != nil || !r.Next() || r.cells[0] != first {
			t.Errorf("%q: %v, cells %q; want a row that begins with %s", text, err, r.cells, first)
		}
	}
}
