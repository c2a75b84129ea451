package language

import (
	"go/ast"
	"go/types"
	"strings"
)

// vague are names of functions and types that say neither what a thing is nor
// what is done with it. Where they stood, readers had to look at the body.
const vague = " of with told tells kin heed unheeded worked unworked lay "

// vagueNames returns the functions and types of a file that have such names,
// methods with their receivers.
func (s source) vagueNames() []passage {
	var found []passage
	add := func(n *ast.Ident, prefix string) {
		if strings.Contains(vague, " "+strings.ToLower(n.Name)+" ") {
			found = append(found, passage{line: s.line(n), text: prefix + n.Name})
		}
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			receiver := ""
			if d.Recv != nil && len(d.Recv.List) == 1 {
				receiver = types.ExprString(d.Recv.List[0].Type) + "."
			}
			add(d.Name, receiver)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					add(t.Name, "")
				}
			}
		}
	}
	return found
}
