package caveat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

type share struct {
	Share float64 `json:"share"`
}

type other struct {
	Share float64 `json:"share"`
}

var (
	stolen = Define("steal", func(a share) string { return "stolen" })
	given  = Define("steal", func(a other) string { return "given" })
	bare   = DefineAbout("bare", func(about Caveat, _ struct{}) string { return "on " + string(about.Node) })
	table  = Table{stolen, given, bare}
)

// TestFill: the text is that of the definition with the code and the type of arguments, made
// once, and begins with what the place does not say.
func TestFill(t *testing.T) {
	web := Subject{Workload: "web", Node: "n1"}
	of := web
	of.Run = "R"
	for _, c := range []struct {
		name  string
		c     Caveat
		place Subject
		want  Text
	}{
		{"of the place", stolen.At(model.Warning, web, share{.5}), Subject{Workload: "web"}, "stolen"},
		{"another type", given.At(model.Warning, web, other{.5}), Subject{Workload: "web"}, "given"},
		{"elsewhere", stolen.At(model.Warning, web, share{.5}), Subject{}, "web: stolen"},
		{"of another run", stolen.At(model.Warning, of, share{.5}), Subject{Workload: "web"}, "run R: stolen"},
		{"a problem", stolen.Problem(share{.5}), Subject{}, "verdict unknown: stolen"},
		{"without arguments", bare.At(model.Warning, web, struct{}{}), Subject{Workload: "web"}, "on n1"},
		{"has its text", Caveat{Code: "steal", Text: "said"}, Subject{}, "said"},
		{"no definition", Caveat{Code: "none", Args: share{.5}}, Subject{}, `none {"share":0.5}`},
	} {
		list := List{c.c}
		table.Fill(c.place, list)
		if list[0].Text != c.want {
			t.Errorf("%s: %q, want %q", c.name, list[0].Text, c.want)
		}
	}
}

// TestList: each caveat is once in a list, and problems come first.
func TestList(t *testing.T) {
	var l List
	l.Add(stolen.Warn(share{.5}), stolen.Warn(share{.5}), stolen.Warn(share{.6}), given.Problem(other{.5}))
	if len(l) != 3 || !l.Problem() || l.Ordered()[0].Severity != model.Problem {
		t.Errorf("%+v; want three, of which the problem is first in order", l)
	}
	if (List{}).Problem() || (List)(nil).Ordered() == nil || (List)(nil).Texts() == nil {
		t.Error("an empty list has a problem, or no array")
	}
}

// TestCheck: definitions that nothing tells apart, codes that are none, and arguments that may
// hold a sentence are refused.
func TestCheck(t *testing.T) {
	if got := table.Check(); len(got) > 0 {
		t.Errorf("a sound table: %q", got)
	}
	type nested struct {
		List []struct{ Sentence string }
	}
	bad := Table{
		stolen, stolen, Define("Code", func(share) string { return "" }),
		Define("a", func(struct{ Sentence string }) string { return "" }),
		Define("b", func(nested) string { return "" }),
		Define("c", func(struct{ T Text }) string { return "" }),
		Define("d", func(struct{ hidden int }) string { return "" }),
		Define("e", func(struct{ F func() }) string { return "" }),
	}
	want := []string{"code steal: two definitions", `code "Code"`, "code a:", "code b:", "code c:", "code d:", "code e:"}
	var got []string
	for i, problem := range bad.Check() {
		if i < len(want) && strings.HasPrefix(problem, want[i]) {
			problem = want[i]
		}
		got = append(got, problem)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}
