package walk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	const text = "# Title\n\nSave this as `a.yaml`:\n\n```yaml\nx: 1\n\ny: 2\n```\n\n<!-- first: sed -i a -->\n<!-- exit 3 -->\n```sh\none \\\n  more\n\n# note\ntwo\n```\n```console\n$ three\nout\n$ four\n```\nThen:\n\n    five\n\n    six\n\nEnd.\n"
	p := Read(text)
	want := []Block{
		{Path: "a.yaml", Language: "yaml", Text: "x: 1\n\ny: 2\n", Line: 6},
		{Language: "sh", Text: "one \\\n  more\n\n# note\ntwo\n", Line: 14, Marks: []Mark{{"first", "sed -i a"}, {"exit", "3"}}},
		{Language: "console", Text: "$ three\nout\n$ four\n", Line: 21},
		{Language: Indented, Text: "    five\n\n    six\n\n", Line: 27},
	}
	if diff := cmp.Diff(want, p.Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if prose := strings.Split(p.Prose, "\n"); len(prose) != strings.Count(text, "\n")+1 || prose[30] != "End." || strings.Contains(p.Prose, "five") {
		t.Errorf("prose %q", p.Prose)
	}
	commands := []Command{{Line: 14, Text: "one \\\n  more"}, {Line: 17, Text: "# note"}, {Line: 18, Text: "two"}}
	if diff := cmp.Diff(commands, p.Blocks[1].Commands()); diff != "" {
		t.Errorf("commands of sh (-want +got):\n%s", diff)
	}
	commands = []Command{{Line: 21, Text: "three", Want: "out\n"}, {Line: 23, Text: "four"}}
	if diff := cmp.Diff(commands, p.Blocks[2].Commands()); diff != "" {
		t.Errorf("commands of console (-want +got):\n%s", diff)
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		want, got string
		match     bool
	}{
		{"a\n", "a\n", true}, {"a\n", "a\nb\n", false}, {"a\n", "b\na\n", false}, {"a.c\n", "abc\n", false},
		{"run …: x\n", "run 01J: x\n", true}, {"run …\n", "run\n", false},
		{"a\n…\nb\n", "a\nb\n", true}, {"a\n…\nb\n", "a\n1\n\n2\nb\n", true}, {"a\n…\nb\n", "a\n1\n", false},
	} {
		if got := Pattern(c.want).MatchString(c.got); got != c.match {
			t.Errorf("Pattern(%q) matches %q: %v, want %v", c.want, c.got, got, c.match)
		}
	}
}
