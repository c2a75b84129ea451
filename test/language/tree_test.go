package language

import (
	"flag"
	"os"
	"testing"
)

var (
	update = flag.Bool("update", false, "remove the exceptions whose text is gone; adds none")
	start  = flag.Bool("start", false, "write the exceptions anew from all that fails")
)

// atMost is how much is printed of each kind.
const atMost = 100

// TestTree holds pages, messages and code to the rules.
func TestTree(t *testing.T) {
	const file = "exceptions.txt"
	found, err := checkTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	if *start {
		if old, _ := os.ReadFile(file); len(old) > 0 {
			t.Fatalf("%s is not empty: it only shrinks; empty it first if it must begin anew, and say why", file)
		}
		var all []exception
		for _, f := range found {
			all = append(all, f.exception)
		}
		write(t, file, all)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseExceptions(string(text))
	if err != nil {
		t.Fatal(err)
	}
	fresh, unused, kept := match(found, list)
	if *update {
		write(t, file, kept)
		unused = nil
	}
	for i, f := range fresh {
		if i == atMost {
			t.Errorf("… and %d more", len(fresh)-i)
			break
		}
		t.Error(f)
	}
	if len(unused) > 0 {
		t.Errorf("test/language/%s: the text of %d exceptions is gone, as of %v; remove them: "+
			"go test ./test/language -update, which only removes", file, len(unused), unused[0])
	}
}

func write(t *testing.T, file string, list []exception) {
	t.Helper()
	if err := os.WriteFile(file, []byte(formatExceptions(list)), 0o644); err != nil { //nolint:gosec // not secret
		t.Fatal(err)
	}
}
