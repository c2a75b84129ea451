package http1

import (
	"bytes"
	"errors"
)

// What may be wrong with an answer. All of it is load.ErrProtocol.
var (
	errStatusLine = errors.New("the answer does not begin with HTTP/1.0 or HTTP/1.1 and a status")
	errUpgrade    = errors.New("the server switches to a protocol that was not asked for")
	errField      = errors.New("malformed header")
	errLength     = errors.New("malformed or contradictory Content-Length")
	errEncoding   = errors.New("unsupported transfer encoding; only chunked is supported")
	errChunk      = errors.New("malformed chunk")
	errHeaderSize = errors.New("the header exceeds its limit")
	errBodySize   = errors.New("the body exceeds its limit")
)

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

// reply reads one answer after another, in pieces of any size: what it makes of
// them does not depend on how they were cut. It keeps no more of an answer than
// the beginning of a line, and allocates nothing where lines come whole.
//
// It follows RFC 9112; where that leaves a choice it is lenient with ends of
// lines (a bare LF will do) and strict with whatever says where an answer ends.
type reply struct {
	// The limits: of a header, a line between chunks or all trailers, and of a
	// body, in bytes.
	maxHeader int
	maxBody   int64
	// pages is where bodies are kept; nil: they are thrown away.
	pages *pages

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
	lines     int    // bytes of lines that the limit maxHeader counts
	partial   []byte // the beginning of a line
	page      []byte // the body, as far as it is kept
	shortened bool   // it is not kept whole
}

// begin waits for an answer; head says that it has no body for it answers a
// HEAD.
func (r *reply) begin(head bool) {
	r.head = head
	r.status, r.lines = 0, 0
	r.last = false
	r.partial = r.partial[:0]
	r.letGo()
	r.message()
}

// message begins an answer or, after an interim one, the next.
func (r *reply) message() {
	r.stage = statusLine
	r.close, r.keepAlive, r.chunked = false, false, false
	r.length, r.body = -1, 0
}

// forget gives back the memory that a long line has taken.
func (r *reply) forget() {
	r.letGo()
	if cap(r.partial) > 4<<10 {
		r.partial = nil
	}
}

// letGo gives back the memory that the body has taken.
func (r *reply) letGo() {
	if r.page != nil {
		r.pages.give(r.page)
	}
	r.page, r.shortened = nil, false
}

// keep keeps a part of the body, if it is to be read.
func (r *reply) keep(b []byte) {
	if r.pages == nil {
		return
	}
	kept := len(r.page)
	r.page = r.pages.add(r.page, b)
	r.shortened = r.shortened || len(r.page)-kept < len(b)
}

// pages has the memory for bodies of answers.
type pages struct {
	most int // of one body, in bytes
	left int // of all
	free [][]byte
}

// freePages is how many are kept for bodies to come, freePage how large they may
// be.
const freePages, freePage = 64, 256 << 10

// add appends to a body as much as there may be.
func (p *pages) add(page, b []byte) []byte {
	b = b[:min(len(b), p.most-len(page), p.left)]
	if n := len(p.free); page == nil && n > 0 {
		page, p.free = p.free[n-1], p.free[:n-1]
	}
	p.left -= len(b)
	return append(page, b...)
}

// give takes a body back.
func (p *pages) give(page []byte) {
	p.left += len(page)
	if len(p.free) < freePages && cap(page) <= freePage {
		p.free = append(p.free, page[:0])
	}
}

// whole reports whether the answer is complete.
func (r *reply) whole() bool { return r.stage == whole }

// feed reads what came. It returns how much of it belongs to the answer: all,
// unless the answer is whole before.
func (r *reply) feed(b []byte) (int, error) {
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

// end handles the end of the data. It reports whether that makes the answer
// whole.
func (r *reply) end() bool {
	if r.stage == endlessBody {
		r.stage = whole
	}
	return r.whole()
}

// step reads a line, or as much of a body as there is.
func (r *reply) step(b []byte) (int, error) {
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
func (r *reply) skip(b []byte, then stage) int {
	n := min(r.left, int64(len(b)))
	r.keep(b[:n])
	r.left -= n
	if r.left == 0 {
		r.stage = then
	}
	return int(n)
}

// grow counts bytes of the body.
func (r *reply) grow(n int64) error {
	if n > r.maxBody-r.body {
		return errBodySize
	}
	r.body += n
	return nil
}

// readLine reads the rest of a line, or keeps it until there is more.
func (r *reply) readLine(b []byte) (int, error) {
	end := bytes.IndexByte(b, '\n')
	used := end + 1
	if end < 0 {
		used = len(b)
	}
	r.lines += used
	if r.lines > r.maxHeader {
		return used, errHeaderSize
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

// line takes a line without its end.
func (r *reply) line(line []byte) error {
	switch r.stage {
	case statusLine:
		return r.readStatus(line)
	case headerLine:
		return r.readHeader(line)
	case chunkSize:
		return r.readChunkSize(line)
	case chunkEnd:
		if len(line) > 0 {
			return errChunk
		}
		r.nextLines(chunkSize)
		return nil
	default:
		return r.readTrailer(line)
	}
}

// nextLines begins a stage with its own limit of lines.
func (r *reply) nextLines(s stage) { r.stage, r.lines = s, 0 }

// readStatus reads a line such as "HTTP/1.1 200 OK".
func (r *reply) readStatus(line []byte) error {
	const version, code, reason = len("HTTP/1."), len("HTTP/1.1 "), len("HTTP/1.1 200")
	if len(line) < reason || string(line[:version]) != "HTTP/1." || line[code-1] != ' ' ||
		len(line) > reason && line[reason] != ' ' {
		return errStatusLine
	}
	r.old = line[version] == '0'
	status, ok := digits(line[code:reason])
	if !ok || status < 100 || !r.old && line[version] != '1' {
		return errStatusLine
	}
	r.status = int(status)
	r.stage = headerLine
	return nil
}

func (r *reply) readHeader(line []byte) error {
	if len(line) == 0 {
		return r.headerEnds()
	}
	name, value, err := field(line)
	if err != nil {
		return err
	}
	switch {
	case isName(name, "content-length"):
		n, ok := digits(value)
		if !ok || r.length >= 0 && r.length != n {
			return errLength
		}
		r.length = n
	case isName(name, "transfer-encoding"):
		if r.chunked || r.old || !isName(value, "chunked") {
			return errEncoding
		}
		r.chunked = true
	case isName(name, "connection"):
		r.connection(value)
	}
	return nil
}

// headerEnds decides what follows the header (RFC 9112, section 6.3).
func (r *reply) headerEnds() error {
	switch {
	case r.status == 101:
		return errUpgrade
	case r.status < 200:
		// Another answer follows. All count as one header, so that they cannot
		// go on for ever.
		r.message()
		return nil
	}
	r.last = r.close || r.old && !r.keepAlive
	switch {
	case r.head || r.status == 204 || r.status == 304 || r.length == 0 && !r.chunked:
		r.stage = whole
	case r.chunked:
		r.nextLines(chunkSize)
	case r.length > 0:
		r.stage, r.left = fixedBody, r.length
		return r.grow(r.length)
	default:
		r.stage, r.last = endlessBody, true
	}
	return nil
}

// connection reads a list of options.
func (r *reply) connection(value []byte) {
	for len(value) > 0 {
		option, rest, _ := bytes.Cut(value, comma)
		option = trim(option)
		r.close = r.close || isName(option, "close")
		r.keepAlive = r.keepAlive || isName(option, "keep-alive")
		value = rest
	}
}

var comma = []byte{','}

// readChunkSize reads a line such as "1f;extension=value". Extensions are
// thrown away.
func (r *reply) readChunkSize(line []byte) error {
	size, rest, err := hex(line)
	if err != nil {
		return err
	}
	rest = trim(rest)
	if len(rest) > 0 && rest[0] != ';' || bytes.IndexByte(rest, '\r') >= 0 {
		return errChunk
	}
	if size == 0 {
		r.nextLines(trailerLine)
		return nil
	}
	r.stage, r.left = chunkData, size
	return r.grow(size)
}

func (r *reply) readTrailer(line []byte) error {
	if len(line) == 0 {
		r.stage = whole
		return nil
	}
	_, _, err := field(line)
	return err
}

// field splits "name: value". No space may surround the name; a line that
// begins with one would continue the line before, which RFC 9112, section 5.2,
// allows to refuse.
func field(line []byte) (name, value []byte, err error) {
	i := 0
	for i < len(line) && isToken[line[i]] {
		i++
	}
	if i == 0 || i == len(line) || line[i] != ':' {
		return nil, nil, errField
	}
	value = trim(line[i+1:])
	if bytes.IndexByte(value, '\r') >= 0 || bytes.IndexByte(value, 0) >= 0 {
		return nil, nil, errField
	}
	return line[:i], value, nil
}

// trim removes the space around a value.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// isToken are the characters of names (RFC 9110, section 5.6.2).
var isToken = func() (t [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t[c] = true
	}
	return t
}()

// isName compares without regard to case; name is in lower case, of letters and
// hyphens.
func isName(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i := range b {
		if b[i] != name[i] && (b[i] < 'A' || b[i] > 'Z' || b[i]|0x20 != name[i]) {
			return false
		}
	}
	return true
}

// digits reads a decimal number of up to 18 digits.
func digits(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// hex reads a hexadecimal number.
func hex(b []byte) (n int64, rest []byte, err error) {
	i := 0
	for ; i < len(b); i++ {
		d := hexDigit(b[i])
		if d < 0 {
			break
		}
		if n > 1<<56 {
			return 0, nil, errBodySize
		}
		n = n<<4 | d
	}
	if i == 0 {
		return 0, nil, errChunk
	}
	return n, b[i:], nil
}

// hexDigit is -1 for other bytes.
func hexDigit(c byte) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int64(c|0x20-'a') + 10
	}
	return -1
}
