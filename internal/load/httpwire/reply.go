package httpwire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/unit"
)

// The limits of an answer where nobody says otherwise. Browsers take headers of
// 256 KiB.
const (
	DefaultMaxHeader = 256 << 10
	DefaultMaxBody   = 64 << 20
)

// What may be wrong with an answer. All of it is load.ErrProtocol.
var (
	errStatusLine = errors.New("the answer does not begin with HTTP/1 and a status")
	errUpgrade    = errors.New("the server switches to a protocol that was not asked for")
	errField      = errors.New("malformed header")
	errLength     = errors.New("malformed or contradictory Content-Length")
	errEncoding   = errors.New("unsupported Transfer-Encoding; only chunked is supported")
	errBoth       = errors.New("the answer has both Transfer-Encoding and Content-Length")
	errChunk      = errors.New("malformed chunk")
)

// LimitError says that an answer is larger than allowed.
type LimitError struct {
	// Part is what is too large.
	Part Part
	// Limit is how many bytes it may have.
	Limit int64
}

// Part is a part of an answer that has a limit.
type Part string

// The parts.
const (
	Header Part = "header"
	Body   Part = "body"
)

func (e *LimitError) Error() string {
	return fmt.Sprintf("the %s of the answer is larger than the %s allowed", e.Part, unit.Size(e.Limit))
}

// Is reports whether another error is of the same part.
func (e *LimitError) Is(other error) bool {
	o, ok := other.(*LimitError)
	return ok && o.Part == e.Part
}

// quoted adds the line that is at fault, as far as people read it.
func quoted(err error, line []byte) error {
	const most = 60
	if len(line) > most {
		return fmt.Errorf("%w: %q…", err, line[:most])
	}
	return fmt.Errorf("%w: %q", err, line)
}

// stage is what comes next in an answer.
type stage uint8

const (
	statusLine stage = iota
	headerLine
	fixedBody   // as long as Content-Length says
	endlessBody // until the connection is closed
	chunkSize   // the line before a chunk
	chunkData
	chunkEnd // the end of line after it
	trailerLine
	whole
)

// Reply reads one answer after another, in pieces of any size: what it makes of
// them does not depend on how they were cut. It keeps no more of an answer than
// the beginning of a line and one value, and allocates nothing where lines come
// whole.
//
// It follows RFC 9112. Where that leaves a choice it is as lenient as curl with
// lines: a bare LF ends one, empty lines before an answer are skipped, folds and
// space before a colon are taken out. It is strict with whatever says where an
// answer ends.
type Reply struct {
	// The limits: of a header, a line between chunks or all trailers, and of a
	// body, in bytes.
	MaxHeader int
	MaxBody   int64
	// Pages is where bodies are kept; nil: they are thrown away.
	Pages *Pages

	stage  stage
	status int
	// last: the connection is not used again after this answer.
	last bool

	head      bool // it answers a HEAD
	old       bool // it is HTTP/1.0
	close     bool // Connection: close
	keepAlive bool // Connection: keep-alive
	chunked   bool
	length    int64  // Content-Length; -1: none
	left      int64  // of the body or chunk
	body      int64  // bytes of body that were announced or came
	lines     int    // bytes of lines that the limit MaxHeader counts
	partial   []byte // the beginning of a line
	// field is the header that the last line began or went on with, value what it
	// has so far: the next line may continue it.
	field     field
	value     []byte
	page      []byte // the body, as far as it is kept
	shortened bool   // it is not kept whole
}

// Begin waits for an answer; head says that it has no body for it answers a
// HEAD.
func (r *Reply) Begin(head bool) {
	r.head = head
	r.status, r.lines = 0, 0
	r.last = false
	r.partial = r.partial[:0]
	r.LetGo()
	r.message()
}

// message begins an answer or, after an interim one, the next.
func (r *Reply) message() {
	r.stage = statusLine
	r.close, r.keepAlive, r.chunked, r.field = false, false, false, otherField
	r.length, r.body = -1, 0
}

// Forget gives back the memory that a long line has taken.
func (r *Reply) Forget() {
	r.LetGo()
	if cap(r.partial) > 4<<10 {
		r.partial = nil
	}
}

// LetGo gives back the memory that the body has taken.
func (r *Reply) LetGo() {
	if r.page != nil {
		r.Pages.give(r.page)
	}
	r.page, r.shortened = nil, false
}

// keep keeps a part of the body, if it is to be read.
func (r *Reply) keep(b []byte) {
	if r.Pages == nil {
		return
	}
	kept := len(r.page)
	r.page = r.Pages.add(r.page, b)
	r.shortened = r.shortened || len(r.page)-kept < len(b)
}

// Pages has the memory for bodies of answers.
type Pages struct {
	Most int // of one body, in bytes
	Left int // of all
	free [][]byte
}

// freePages is how many are kept for bodies to come, freePage how large they may
// be.
const freePages, freePage = 64, 256 << 10

// add appends to a body as much as there may be.
func (p *Pages) add(page, b []byte) []byte {
	b = b[:min(len(b), p.Most-len(page), p.Left)]
	if n := len(p.free); page == nil && n > 0 {
		page, p.free = p.free[n-1], p.free[:n-1]
	}
	p.Left -= len(b)
	return append(page, b...)
}

// give takes a body back.
func (p *Pages) give(page []byte) {
	p.Left += len(page)
	if len(p.free) < freePages && cap(page) <= freePage {
		p.free = append(p.free, page[:0])
	}
}

// Status is that of the answer; 0 before it is known.
func (r *Reply) Status() int { return r.status }

// Last reports whether the server closes the connection after this answer.
func (r *Reply) Last() bool { return r.last }

// Begun reports whether anything of the answer has come.
func (r *Reply) Begun() bool { return r.stage != statusLine || r.lines > 0 }

// Page is the body, as far as it is kept; shortened says that this is not all.
func (r *Reply) Page() (page []byte, shortened bool) { return r.page, r.shortened }

// Whole reports whether the answer is complete.
func (r *Reply) Whole() bool { return r.stage == whole }

// Feed reads what came. It returns how much of it belongs to the answer: all,
// unless the answer is whole before.
func (r *Reply) Feed(b []byte) (int, error) {
	n := 0
	for r.stage != whole && n < len(b) {
		used, err := r.step(b[n:])
		n += used
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// End handles the end of the data. It reports whether that makes the answer
// whole.
func (r *Reply) End() bool {
	if r.stage == endlessBody {
		r.stage = whole
	}
	return r.Whole()
}

// step reads a line, or as much of a body as there is.
func (r *Reply) step(b []byte) (int, error) {
	switch r.stage {
	case fixedBody:
		return r.skip(b, whole), nil
	case chunkData:
		return r.skip(b, chunkEnd), nil
	case endlessBody:
		r.keep(b)
		return len(b), r.grow(int64(len(b)))
	default:
		return r.readLine(b)
	}
}

// skip reads of a body or chunk what there is.
func (r *Reply) skip(b []byte, then stage) int {
	n := min(r.left, int64(len(b)))
	r.keep(b[:n])
	r.left -= n
	if r.left == 0 {
		r.stage = then
	}
	return int(n)
}

// grow counts bytes of the body.
func (r *Reply) grow(n int64) error {
	if n > r.MaxBody-r.body {
		return &LimitError{Body, r.MaxBody}
	}
	r.body += n
	return nil
}

// readLine reads the rest of a line, or keeps it until there is more.
func (r *Reply) readLine(b []byte) (int, error) {
	end := bytes.IndexByte(b, '\n')
	used := end + 1
	if end < 0 {
		used = len(b)
	}
	r.lines += used
	if r.lines > r.MaxHeader {
		return used, &LimitError{Header, int64(r.MaxHeader)}
	}
	if end < 0 {
		r.partial = append(r.partial, b...)
		return used, nil
	}
	line := b[:end]
	if len(r.partial) > 0 {
		r.partial = append(r.partial, line...)
		line = r.partial
	}
	err := r.line(bytes.TrimSuffix(line, crByte))
	r.partial = r.partial[:0]
	return used, err
}

var crByte = []byte{'\r'}
