package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"github.com/scalebench/scalebench/internal/expression"
)

// accessLog adds up the lines that a server writes to its access log, from the
// first reading on.
type accessLog struct {
	// path is in the folder; the service, which may have fewer rights than its agent,
	// decides what is there.
	folder, path string
	line         *regexp.Regexp
	time         int     // the group of the expression with the time that an answer took
	perSecond    float64 // its unit
	// files are the log and, after it was rotated, the one before: a server may
	// still write to that for a while.
	files   []*logFile
	begun   bool // there was a reading
	buf     []byte
	sums    answer
	names   map[string]bool
	unknown int // lines that the expression does not match
	lines   int
	cut     int // how often the file was made shorter
}

// units are the groups for the time that an answer took, with how many make a
// second.
var units = map[string]float64{"micros": 1e6, "millis": 1e3, "seconds": 1}

func openLog(p Probe) (server, error) {
	if p.File == "" || p.Pattern == "" {
		return nil, errors.New("it needs file and pattern, a regular expression for a line of the file")
	}
	line, err := expression.Regexp(p.Pattern)
	if err != nil {
		return nil, fmt.Errorf("its pattern: %w", err)
	}
	folder, path := p.Folder, p.File
	if folder == "" {
		folder, path = filepath.Split(path)
	}
	l := &accessLog{folder: cmp.Or(folder, "."), path: path, line: line, buf: make([]byte, 64<<10),
		names: map[string]bool{}}
	l.sums.values = map[string]float64{}
	for i, name := range line.SubexpNames() {
		unit, timed := units[name]
		switch {
		case timed && l.time == 0:
			l.time, l.perSecond = i, unit
		case !slices.Contains([]string{"", "path", "bytes", "status"}, name):
			return nil, fmt.Errorf("its pattern has the group %q: use path, bytes, status, and one of micros, millis, seconds",
				name)
		}
	}
	if l.time == 0 {
		return nil, errors.New("its pattern needs one of the groups (?P<micros>…), (?P<millis>…) or (?P<seconds>…)")
	}
	return l, nil
}

// part is what a group of the expression matches; false: it has no such group.
func (l *accessLog) part(m [][]byte, group string) (string, bool) {
	i := l.line.SubexpIndex(group)
	if i < 0 {
		return "", false
	}
	return string(m[i]), true
}

func (l *accessLog) close() {
	for _, f := range l.files {
		_ = f.Close() // nothing was written
	}
}

func (l *accessLog) notes() []string {
	var notes []string
	if l.unknown > 0 {
		notes = append(notes, fmt.Sprintf("the pattern does not match %d of %d lines, which are not counted", l.unknown, l.lines))
	}
	if l.cut > 0 {
		notes = append(notes, fmt.Sprintf("the file was made shorter, %d times: lines that were not read by then are missing", l.cut))
	}
	return notes
}

// ask reads what was written since the last time. The totals are there from the
// first reading on.
func (l *accessLog) ask(_ context.Context, a *answer) error {
	if err := l.follow(); err != nil {
		return err
	}
	for _, f := range l.files {
		if err := f.read(l.buf, l.take); err != nil {
			return err
		}
	}
	for total, group := range map[string]string{"requests": "", "response": "", "errors": "status",
		"body_bytes": "bytes"} {
		if slices.Contains(l.line.SubexpNames(), group) { // "" is all of the line
			l.sums.add(total, 0)
		}
	}
	maps.Copy(a.values, l.sums.values)
	return nil
}

// follow looks which file is the log now. At the first reading what it has is
// skipped; a later file is read from its beginning.
func (l *accessLog) follow() error {
	begun := l.begun
	l.begun = true
	root, err := os.OpenRoot(l.folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // a folder
	info, err := root.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) && len(l.files) > 0 {
		return nil // it was moved away, and the next one is not there yet
	}
	if err != nil {
		return err
	}
	if n := len(l.files); n > 0 && os.SameFile(info, l.files[n-1].info) {
		if info.Size() < l.files[n-1].offset {
			l.cut++
			l.files[n-1].offset, l.files[n-1].rest = 0, nil
		}
		return nil
	}
	next, err := openRegular(root, l.path)
	if err != nil {
		return err
	}
	if !begun { // what is there is left out, and the rest of a line that is not whole
		next.offset = next.info.Size()
		last := make([]byte, 1)
		if _, err := next.ReadAt(last, next.offset-1); next.offset > 0 && err == nil {
			next.partial = last[0] != '\n'
		}
	}
	if l.files = append(l.files, next); len(l.files) > 2 {
		_ = l.files[0].Close() // nothing was written
		l.files = l.files[1:]
	}
	return nil
}

// openRegular opens a log. One that is no file, such as a pipe, is refused: what
// is read from a pipe is missing where it leads, and opening it may wait for ever.
func openRegular(root *os.Root, path string) (*logFile, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file: let the server write its access log to one", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &logFile{File: f, info: info}, nil
}

// logFile is a file that is read as it grows.
type logFile struct {
	*os.File
	info    os.FileInfo
	offset  int64  // of what was read
	rest    []byte // of a line that is not whole yet
	partial bool   // the first line began before the first reading
}

// maxLine is how long a line may be; one that is longer is cut.
const maxLine = 64 << 10

// read calls take for every line that is whole.
func (f *logFile) read(buf []byte, take func(line []byte)) error {
	for {
		n, err := f.ReadAt(buf, f.offset)
		f.offset += int64(n)
		f.rest = append(f.rest, buf[:n]...)
		whole := f.rest
		for {
			line, after, ok := bytes.Cut(whole, []byte{'\n'})
			if !ok {
				break
			}
			if !f.partial {
				take(line)
			}
			f.partial, whole = false, after
		}
		f.rest = append(f.rest[:0], whole[:min(len(whole), maxLine)]...)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// maxNames is how many interactions have metrics of their own; the others are
// "other".
const maxNames = 100

// take counts a line.
func (l *accessLog) take(line []byte) {
	l.lines++
	m := l.line.FindSubmatch(line)
	if m == nil {
		l.unknown++
		return
	}
	took, err := strconv.ParseFloat(string(m[l.time]), 64)
	if err != nil || !countable(took) {
		l.unknown++
		return
	}
	text, _ := l.part(m, "status")
	if status, err := strconv.Atoi(text); err == nil && status >= 400 {
		l.sums.add("errors", 1)
	}
	text, _ = l.part(m, "bytes")
	if size, err := strconv.ParseFloat(text, 64); err == nil && countable(size) { // "-": none
		l.sums.add("body_bytes", size)
	}
	seconds := took / l.perSecond
	if path, ok := l.part(m, "path"); ok {
		l.sums.interaction(l.name(path), 1, seconds)
		return
	}
	l.sums.add("requests", 1)
	l.sums.add("response", seconds)
}

// countable reports whether a number can be added to a sum for good.
func countable(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// name is that of a path, if there are not too many.
func (l *accessLog) name(path string) string {
	name := Interaction(path)
	if !l.names[name] {
		if len(l.names) >= maxNames {
			return "other"
		}
		l.names[name] = true
	}
	return name
}
