package texts

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finding is one place where a sentence is used as data.
type finding struct {
	pos  token.Position
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s: %s", f.pos, f.what) }

// checker looks at the expressions of a package that has been type-checked.
type checker struct {
	text  string // the type's full name: its package's path, a dot, and its name
	fset  *token.FileSet
	info  *types.Info
	found []finding
}

func (c *checker) refuse(n ast.Node, what string) {
	c.found = append(c.found, finding{c.fset.Position(n.Pos()), what})
}

// isText reports whether an expression is a text.
func (c *checker) isText(e ast.Expr) bool {
	t := c.info.TypeOf(e)
	return t != nil && types.TypeString(types.Unalias(t), nil) == c.text
}

// holdsText reports whether a type is a text, or a slice, an array, a map or a pointer of texts.
func (c *checker) holdsText(t types.Type) bool {
	if t == nil {
		return false
	}
	if types.TypeString(types.Unalias(t), nil) == c.text {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return c.holdsText(u.Elem())
	case *types.Array:
		return c.holdsText(u.Elem())
	case *types.Pointer:
		return c.holdsText(u.Elem())
	case *types.Map:
		return c.holdsText(u.Key()) || c.holdsText(u.Elem())
	}
	return false
}

// visit refuses what uses a text as data.
func (c *checker) visit(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.BinaryExpr:
		compares := x.Op != token.ADD && (c.isShown(x.X) || c.isShown(x.Y))
		if c.isText(x.X) || c.isText(x.Y) || compares {
			c.refuse(x, "a text is compared, or joined with another: decide by code and arguments")
		}
	case *ast.IndexExpr:
		if c.isText(x.X) {
			c.refuse(x, "a text is searched")
		} else if m, ok := underlying(c.info.TypeOf(x.X)).(*types.Map); ok && c.holdsText(m.Key()) {
			c.refuse(x, "a text is the key of a map: use code and arguments")
		}
	case *ast.SliceExpr:
		if c.isText(x.X) {
			c.refuse(x, "a text is cut")
		}
	case *ast.RangeStmt:
		if c.isText(x.X) {
			c.refuse(x, "a text is searched")
		}
	case *ast.SwitchStmt:
		if x.Tag != nil && c.isText(x.Tag) {
			c.refuse(x, "a text is compared: decide by code and arguments")
		}
	case *ast.CallExpr:
		c.call(x)
	case *ast.BasicLit:
		if c.isText(x) && x.Value != `""` {
			c.refuse(x, "a text is written here: define a caveat, or use caveat.Sentence")
		}
	}
	return true
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// comparing are the packages of functions that look at the elements of what they are given;
// copying are those of their functions that do not.
var (
	comparing = []string{"slices", "maps", "cmp", "sort", "fmt", "strings", "reflect", "unsafe"}
	copying   = []string{"slices.Clone", "slices.Clip", "slices.Concat", "slices.Grow", "slices.Delete", "slices.Insert"}
)

// call refuses conversions, and calls of functions that look into a text.
func (c *checker) call(x *ast.CallExpr) {
	if tv, ok := c.info.Types[x.Fun]; ok && tv.IsType() {
		to := types.TypeString(types.Unalias(tv.Type), nil)
		switch {
		case len(x.Args) == 1 && c.isText(x.Args[0]) && to != c.text:
			c.refuse(x, "a text is converted: package doc shows it")
		case to == c.text && len(x.Args) == 1 && (!c.isText(x.Args[0]) || c.info.Types[x.Args[0]].Value != nil):
			c.refuse(x, "a text is made: caveat.Define and caveat.Sentence make it")
		}
		return
	}
	if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && id.Name == "len" && c.isText(x.Args[0]) {
		c.refuse(x, "a text is measured: decide by code and arguments")
	}
	name := c.called(x)
	pkg, _, _ := strings.Cut(name, ".")
	if !slices.Contains(comparing, pkg) || slices.Contains(copying, name) {
		return
	}
	for _, a := range x.Args {
		if c.holdsText(c.info.TypeOf(a)) || pkg != "fmt" && c.isShown(a) {
			c.refuse(x, name+" looks into a text")
			return
		}
	}
}

// isShown reports whether an expression is what package doc returns of a text, to be shown as it
// is.
func (c *checker) isShown(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	name := c.called(call)
	return strings.HasSuffix(name, "internal/doc.Words") || strings.HasSuffix(name, "internal/doc.Joined")
}

// called is "slices.Contains" of a call of a function of another package; empty: it is none.
func (c *checker) called(x *ast.CallExpr) string {
	fun := ast.Unparen(x.Fun)
	if i, ok := fun.(*ast.IndexExpr); ok { // with a type argument
		fun = i.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := c.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return ""
	}
	return f.Pkg().Path() + "." + f.Name()
}
