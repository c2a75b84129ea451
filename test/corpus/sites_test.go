package corpus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reach are the packages whose doubts an answer of a study can have, below internal/.
var reach = map[string][]string{
	"cdi":         {"evaluation", "observe", "answer"},
	"resources":   {"evaluation", "observe", "answer"},
	"sizing":      {"study/sizing", "evaluation", "observe", "answer"},
	"capacity":    {"study/capacity", "observe", "answer"},
	"ntier":       {"study/ntier", "bottleneck", "observe", "answer"},
	"variability": {"study/variability", "explain", "frame", "frame/files", "observe", "study/capacity"},
	"compare":     {"study/compare", "frame", "frame/files", "observe", "study/capacity"},
	"history":     {"study/history", "frame", "frame/files", "observe", "study/capacity"},

	"pressure":     {"study/pressure", "telemetry"},
	"levelfit":     {"study/levelfit"},
	"servicelevel": {"study/servicelevel"},
	"scaleout":     {"study/scaleout", "observe"},
}

// coders are the functions that take a code, by name, with the place of the argument.
var coders = map[string]int{"Warn": 0, "Problem": 0, "doubt": 0, "warn": 0, "perLoad": 1, "again": 0, "Define": 0,
	"DefineAbout": 0, "define": 0, "about": 0}

// codeForm is how codes are written. One that ends with * is the beginning of several.
var codeForm = regexp.MustCompile(`^[a-z]+(_[a-z]+)*_?\*?$`)

// checkCovered holds the codes of the source and of codes.tsv against those of the cases.
func checkCovered(t *testing.T, all []question, got map[string]seen, codes table) {
	t.Helper()
	has := make(map[string]bool) // "package code"
	var reasons []string
	for _, q := range all {
		for _, d := range got[q.name].doubts {
			for _, pkg := range reach[q.study] {
				has[pkg+" "+d.Code] = true
			}
		}
		reasons = append(reasons, got[q.name].reasons...)
	}
	var missing []string
	for _, name := range sites(t) {
		prefix, several := strings.CutSuffix(name, "*")
		covered := has[name]
		for other := range has {
			covered = covered || several && strings.HasPrefix(other, prefix)
		}
		if !covered {
			missing = append(missing, name)
		}
	}
	for _, r := range codes {
		if !slices.Contains(reasons, r.code) {
			missing = append(missing, r.name())
		}
	}
	named := make(map[string]bool)
	for _, r := range rows(t, uncoveredFile, 2) {
		if named[r[0]] = true; !slices.Contains(missing, r[0]) {
			t.Errorf("%s: %s has a case, or is no code: remove the row", uncoveredFile, r[0])
		}
	}
	if len(named) > mostUncovered {
		t.Errorf("%s has %d rows, want at most %d", uncoveredFile, len(named), mostUncovered)
	}
	for _, name := range missing {
		if !named[name] {
			t.Errorf("no case has the code %s: add one, or a row to %s", name, uncoveredFile)
		}
	}
}

// sites are the codes that the source has, as "package code", each once.
func sites(t *testing.T) []string {
	t.Helper()
	packages := make(map[string]bool)
	for _, of := range reach {
		for _, p := range of {
			packages[p] = true
		}
	}
	s := scanner{t: t, constants: make(map[string]string), found: make(map[string]bool)}
	parsed := make(map[string][]*ast.File)
	for _, pkg := range append(slices.Sorted(maps.Keys(packages)), "model") {
		parsed[pkg] = s.parse(pkg)
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		s.pkg = pkg
		for _, f := range parsed[pkg] {
			ast.Inspect(f, s.visit)
		}
	}
	return slices.Sorted(maps.Keys(s.found))
}

// scanner finds codes in the source of packages.
type scanner struct {
	t         *testing.T
	pkg       string
	constants map[string]string // by "package.name"
	found     map[string]bool
}

// parse reads the files of a package, and its constants.
func (s *scanner) parse(pkg string) (out []*ast.File) {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join("../../internal", filepath.FromSlash(pkg), "*.go"))
	if err != nil || len(paths) == 0 {
		s.t.Fatalf("package %s: %v, %d files", pkg, err, len(paths))
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, name := range spec.Names {
					if i < len(spec.Values) {
						if text, ok := literal(spec.Values[i]); ok {
							s.constants[path.Base(pkg)+"."+name.Name] = text
						}
					}
				}
			}
			return true
		})
	}
	return out
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// code is the text of an expression that is constant, or begins so.
func (s *scanner) code(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		return literal(x)
	case *ast.Ident:
		text, ok := s.constants[path.Base(s.pkg)+"."+x.Name]
		return text, ok
	case *ast.SelectorExpr:
		if of, ok := x.X.(*ast.Ident); ok {
			text, ok := s.constants[of.Name+"."+x.Sel.Name]
			return text, ok
		}
	case *ast.BinaryExpr:
		text, ok := s.code(x.X)
		return text + "*", ok
	}
	return "", false
}

// visit finds the codes of a node.
func (s *scanner) visit(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.CallExpr:
		name := called(x)
		at, ok := coders[name]
		if !ok && name == "add" && s.pkg == "study/sizing" {
			ok = true // of courseOf
		}
		if ok && at < len(x.Args) {
			s.add(x.Args[at])
		}
	case *ast.KeyValueExpr:
		if key, ok := x.Key.(*ast.Ident); ok && slices.Contains([]string{"Code", "kind"}, key.Name) {
			s.add(x.Value)
		}
	case *ast.AssignStmt:
		for i, left := range x.Lhs {
			if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Code" && i < len(x.Rhs) {
				s.add(x.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		if of, ok := x.Type.(*ast.Ident); ok && of.Name == "open" && len(x.Elts) > 0 {
			s.add(x.Elts[0])
		}
	case *ast.ValueSpec:
		for i, name := range x.Names {
			if list, ok := valueOf(x, i).(*ast.CompositeLit); ok && name.Name == "disturbing" {
				for _, e := range list.Elts {
					s.add(e)
				}
			}
		}
	}
	return true
}

func valueOf(x *ast.ValueSpec, i int) ast.Expr {
	if i < len(x.Values) {
		return x.Values[i]
	}
	return nil
}

func (s *scanner) add(e ast.Expr) {
	if code, ok := s.code(e); ok && codeForm.MatchString(code) {
		s.found[s.pkg+" "+code] = true
	}
}

// called is the name of the function of a call.
func called(x *ast.CallExpr) string {
	switch f := x.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
