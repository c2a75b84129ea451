package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// lastLines passes on what a service prints, each line with the name of the
// service, and keeps the last ones for messages.
type lastLines struct {
	to   io.Writer
	name string

	mu   sync.Mutex
	last []string
}

// How much of its output a message shows.
const (
	shownLines = 10
	shownLine  = 400 // bytes
)

// read takes the output to its end.
func (l *lastLines) read(from io.Reader) {
	for in := bufio.NewReaderSize(from, 64<<10); ; {
		line, _, err := in.ReadLine() // a line of more than the buffer comes in parts
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(l.to, "%s| %s\n", l.name, line) // it takes everything
		l.mu.Lock()
		l.last = append(l.last, string(line[:min(len(line), shownLine)]))
		l.last = l.last[max(0, len(l.last)-shownLines):]
		l.mu.Unlock()
	}
}

// text is the end of a message: what was printed last.
func (l *lastLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return "; it printed nothing"
	}
	return "; it last printed: " + strings.ToValidUTF8(strings.Join(l.last, " | "), "\uFFFD")
}

// collect copies the files that are to be kept, named after the service and
// their path. It says what is missing; nothing of it fails the task.
func (r *running) collect(keep string) (note string, err error) {
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return "", err
	}
	var missing []string
	var errs []error
	names := make(map[string]bool)
	for _, pattern := range r.Keep {
		files, _ := filepath.Glob(filepath.Join(r.dir, r.fill(pattern)))
		files = slices.DeleteFunc(files, func(f string) bool { info, err := os.Stat(f); return err != nil || !info.Mode().IsRegular() })
		if len(files) == 0 {
			missing = append(missing, pattern)
		}
		for _, f := range files {
			rel, _ := filepath.Rel(r.dir, f) // it was found below it
			name := keptName(fmt.Sprintf("%s-%d", r.Name, r.Index), rel)
			if !names[name] && len(names) < model.MaxKept {
				names[name] = true
				errs = append(errs, copyFile(f, filepath.Join(keep, name)))
			}
		}
	}
	if len(missing) > 0 {
		note = "no file is " + strings.Join(missing, ", ")
	}
	return note, errors.Join(errs...)
}

// keptName is the name of an artifact.
func keptName(service, path string) string {
	return strings.Map(func(c rune) rune {
		if model.CanKeep("a" + string(c)) {
			return c
		}
		return '-'
	}, service+"-"+path)
}
