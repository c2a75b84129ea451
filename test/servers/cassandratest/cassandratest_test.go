package cassandratest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindJava(t *testing.T) {
	dir := t.TempDir()
	home := func(name, release string) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "release"), []byte(release), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	new25 := home("java-25", "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"25.0.1\"\n")
	old11 := home("java-11", "JAVA_VERSION=\"11.0.20\"\n")
	good17 := home("java-17", "JAVA_VERSION=\"17.0.9\"\nOS_NAME=\"Linux\"\n")
	nothing := filepath.Join(dir, "none")
	for _, c := range []struct {
		name, home string
		installed  []string
		want       string // "" is an error
	}{
		{"the newest that works", "", []string{new25, old11, good17}, good17},
		{"an older one", new25, []string{nothing, old11}, old11},
		{"JAVA_HOME", good17, []string{new25}, good17},
		{"only a later one", new25, []string{new25}, ""},
		{"none", "", nil, ""},
	} {
		got, err := findJava(c.home, c.installed)
		if (err != nil) != (c.want == "") || (err == nil && got != filepath.Join(c.want, "bin", "java")) {
			t.Errorf("%s: findJava = %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestLog: what is waited for is found wherever writes are cut, and only the
// end is kept.
func TestLog(t *testing.T) {
	l := newLog("one sign", "another")
	ready := func() bool {
		select {
		case <-l.ready:
			return true
		default:
			return false
		}
	}
	for _, c := range []struct {
		write string
		want  bool
	}{
		{"ano", false}, {"ther\n", false}, {strings.Repeat("x\n", tailSize), false},
		{"INFO one si", false}, {"gn\nrest", true}, {"\none sign\n", true},
	} {
		if _, err := fmt.Fprint(l, c.write); err != nil || ready() != c.want {
			t.Errorf("after %.20q: ready %v, %v, want %v", c.write, ready(), err, c.want)
		}
	}
	if s := l.String(); len(s) != tailSize || !strings.HasSuffix(s, "gn\nrest\none sign\n") {
		t.Errorf("kept %d bytes that end with %q", len(s), s[max(0, len(s)-20):])
	}
}
