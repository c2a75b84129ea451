package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study/resources"
)

// TestCaveatTables: all that studies can say against themselves is data, and nothing tells two
// definitions alike.
func TestCaveatTables(t *testing.T) {
	for _, kind := range Studies() {
		for _, problem := range append(caveat.Table{}, append(kind.Caveats, observe.Caveats...)...).Check() {
			t.Errorf("%s: %s", kind.Name, problem)
		}
	}
}

// TestDefinedCaveats: each definition of a package is in its table; the text of one that is not
// would be its code.
func TestDefinedCaveats(t *testing.T) {
	for dir, table := range map[string]caveat.Table{
		"evaluation":      evaluation.Caveats,
		"study/resources": resources.Kind().Caveats[:len(resources.Kind().Caveats)-len(evaluation.Caveats)],
	} {
		defined := 0
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if ok && (sel.Sel.Name == "Define" || sel.Sel.Name == "DefineAbout") {
					defined++
				}
				return true
			})
		}
		if defined != len(table) {
			t.Errorf("package %s defines %d caveats, and its table has %d", dir, defined, len(table))
		}
	}
}
