package runner

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/model"
)

// capture keeps head and tail of a stream in a buffer of fixed size and the
// whole of it, up to a limit, in a file. The file is made only when the buffer
// does not hold everything. Not safe for concurrent use.
type capture struct {
	path     string // of the file; "" when none is wanted
	fileMax  int64  // bytes that the file may take
	file     *os.File
	fileSize int64
	fileCut  bool // the file misses something

	limit int    // of buf
	buf   []byte // everything, until it is full; then head, and tail as a ring
	next  int    // where the ring is written next, counted from the ring's begin
	total int64
}

func newCapture(limit int64, path string, fileMax int64) *capture {
	if fileMax <= 0 {
		path = ""
	}
	return &capture{limit: int(max(limit, 2)), path: path, fileMax: fileMax}
}

// Write takes everything and never fails: a full disk must not stop the
// benchmark, it is reported as a cut artifact.
func (c *capture) Write(p []byte) (int, error) {
	if c.total+int64(len(p)) > int64(c.limit) {
		c.spill()
	}
	c.toFile(p)
	c.total += int64(len(p))
	c.keep(p)
	return len(p), nil
}

// spill opens the file at the first overflow and writes what came before.
func (c *capture) spill() {
	if c.path == "" || c.file != nil || c.fileCut {
		return
	}
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		c.fileCut = true
		return
	}
	c.file = f
	c.toFile(c.buf)
}

func (c *capture) toFile(p []byte) {
	if c.file == nil || c.fileCut {
		return
	}
	if room := c.fileMax - c.fileSize; int64(len(p)) > room {
		p, c.fileCut = p[:room], true
	}
	n, err := c.file.Write(p)
	c.fileSize += int64(n)
	if err != nil {
		c.fileCut = true
	}
}

// keep fills the buffer, and turns its second half into a ring when it is
// full: the ring's oldest byte is then at its begin.
func (c *capture) keep(p []byte) {
	if room := c.limit - len(c.buf); room > 0 {
		n := min(room, len(p))
		c.buf = append(c.buf, p[:n]...)
		p = p[n:]
	}
	ring := c.buf[min(c.limit/2, len(c.buf)):]
	p = p[max(0, len(p)-len(ring)):] // what came before would be overwritten
	for len(p) > 0 {
		n := copy(ring[c.next:], p)
		p, c.next = p[n:], (c.next+n)%len(ring)
	}
}

// finish closes the file and returns what was kept, and the file's path if
// there is one. The text is valid UTF-8 without NUL, as databases want it;
// where the output is not, the text counts as truncated and the file has the
// bytes as they were printed.
func (c *capture) finish() (model.Output, string) {
	whole := c.total <= int64(c.limit)
	text := string(c.buf)
	if !whole {
		text = c.headAndTail()
	}
	clean := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if clean != text {
		c.spill()
	}
	out := model.Output{Text: clean, Total: c.total, Truncated: !whole || clean != text}
	if c.file == nil {
		return out, ""
	}
	if err := c.file.Close(); err != nil {
		c.fileCut = true
	}
	out.ArtifactCut = c.fileCut
	return out, c.path
}

// headAndTail joins what was kept, with a line between that says how much is
// missing. Runes that the cut split are left out whole.
func (c *capture) headAndTail() string {
	half := c.limit / 2
	head := c.buf[:half]
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if utf8.RuneStart(head[len(head)-i]) {
			if !utf8.FullRune(head[len(head)-i:]) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	ring := c.buf[half:]
	tail := append(append([]byte(nil), ring[c.next:]...), ring[:c.next]...)
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	missing := c.total - int64(len(head)) - int64(len(tail))
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, missing, tail)
}
