package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// pos is where a value or key stands: in the file, or in a flag.
type pos struct {
	line, col int
	flag      string
	order     int // of the flag
}

func (p pos) where() string {
	if p.flag != "" {
		return "in " + p.flag
	}
	return fmt.Sprintf("in line %d", p.line)
}

// problems collects what is wrong on the way through a file.
type problems struct {
	file string
	list []found
}

// found is a problem with the order of the flag that is to blame.
type found struct {
	order int
	model.InputError
}

func (p *problems) add(at pos, path []string, problem, allowed string) {
	problem = strings.TrimPrefix(problem, model.ErrUsage.Error()+": ") // every one is that
	f := found{order: at.order, InputError: model.InputError{File: p.file, Flag: at.flag, Path: strings.Join(path, "."), Problem: problem, Allowed: allowed}}
	if at.flag == "" {
		f.Line, f.Col = at.line, at.col
	}
	p.list = append(p.list, f)
}

// err returns the problems by position, those of flags last, each once: an
// alias repeats the problems of what it stands for. It is nil when there are
// none, otherwise a model.InputErrors.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	seen := make(map[found]bool, len(p.list))
	var out model.InputErrors
	for _, f := range p.list {
		key := f
		if f.Line > 0 {
			key.Path = ""
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, &f.InputError)
		}
	}
	return out
}
