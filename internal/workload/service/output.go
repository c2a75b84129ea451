package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
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
// their path. It says what is missing, cut or left out; nothing of it fails the task.
func (r *running) collect(env *workload.Env) (note string, failed error) {
	if env.KeepLimit <= 0 {
		return "no file is kept: output.artifact is 0", nil
	}
	if err := os.MkdirAll(env.Keep, 0o700); err != nil {
		return "", err
	}
	// The service may have fewer rights than its agent, and decides what is in its folder.
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // a folder
	var missing, cut, left []string
	from := make(map[string]string) // by name
	for _, pattern := range r.Keep {
		files, _ := fs.Glob(root.FS(), path.Clean(r.fill(pattern)))
		files = slices.DeleteFunc(files, func(f string) bool {
			info, err := root.Lstat(f)
			return err != nil || !info.Mode().IsRegular()
		})
		if len(files) == 0 {
			missing = append(missing, pattern)
		}
		for _, f := range files {
			name := keptName(fmt.Sprintf("%s-%d", r.Name, r.Index), f)
			switch was := from[name]; {
			case was == f: // two patterns have it
			case was != "" || !r.place.mayKeep():
				left = append(left, f)
			default:
				from[name] = f
				longer, err := copyHead(root, f, filepath.Join(env.Keep, name), env.KeepLimit)
				failed = errors.Join(failed, err)
				if longer {
					cut = append(cut, f)
				}
			}
		}
	}
	var notes []string
	tell := func(text string, files []string) {
		if len(files) > 0 {
			notes = append(notes, text+someOf(files))
		}
	}
	tell("no file is ", missing)
	tell(fmt.Sprintf("cut to %s (output.artifact): ", num.Bytes(env.KeepLimit)), cut)
	tell(fmt.Sprintf("left out, because a task keeps at most %d files, each of another name: ", model.MaxKept), left)
	return strings.Join(notes, "; "), failed
}

// someOf names the first of many.
func someOf(files []string) string {
	const most = 10
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}

// copyHead copies the beginning of a file, one byte more than the limit where it is
// longer: by that the runner sees that it was cut.
func copyHead(root *os.Root, from, to string, limit int64) (longer bool, err error) {
	in, err := openFile(root, from)
	if err != nil {
		return false, err
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	return n > limit, errors.Join(err, out.Close())
}

// openFile opens a regular file of a folder for reading. A link of either kind is none, nor
// is what takes the place of the file while it is looked at: a service can link a file that
// it may not read into its folder.
func openFile(root *os.Root, name string) (*os.File, error) {
	was, err := root.Lstat(name)
	if err == nil && !was.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(was, is) {
		return nil, errors.Join(fmt.Errorf("%s has become another file", name), err, f.Close())
	} else if of, ok := is.Sys().(*syscall.Stat_t); ok && of.Nlink > 1 {
		return nil, errors.Join(fmt.Errorf("%s has another name, too (a hard link): it is not delivered", name), f.Close())
	}
	return f, nil
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
