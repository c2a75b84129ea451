package httpwire

import "bytes"

// field is what a header means for where an answer ends.
type field uint8

const (
	otherField field = iota
	lengthField
	encodingField
	connectionField
)

// line takes a line without its end.
func (r *Reply) line(line []byte) error {
	switch r.stage {
	case statusLine:
		return r.readStatus(line)
	case headerLine:
		return r.readHeader(line)
	case chunkSize:
		return r.readChunkSize(line)
	case chunkEnd:
		if len(line) > 0 {
			return quoted(errChunk, line)
		}
		r.nextLines(chunkSize)
		return nil
	default:
		return r.readTrailer(line)
	}
}

// nextLines begins a stage with its own limit of lines.
func (r *Reply) nextLines(s stage) { r.stage, r.lines = s, 0 }

// readStatus reads a line such as "HTTP/1.1 200 OK". A later version of HTTP/1 is
// read as 1.1 (RFC 9110, section 2.5), and any space divides (RFC 9112, section
// 4). Empty lines before it are skipped: some servers send more of them than
// belong to the answer before.
func (r *Reply) readStatus(line []byte) error {
	const version, digit = len("HTTP/1."), len("HTTP/1.1")
	switch {
	case len(line) == 0:
		return nil
	case len(line) <= digit, string(line[:version]) != "HTTP/1.", !isDigit(line[version]), !isSpace(line[digit]):
		return quoted(errStatusLine, line)
	}
	code, rest := trim(line[digit:]), []byte(nil)
	if len(code) > 3 {
		code, rest = code[:3], code[3:]
	}
	status, ok := digits(code)
	if !ok || status < 100 || len(rest) > 0 && !isSpace(rest[0]) {
		return quoted(errStatusLine, line)
	}
	r.old = line[version] == '0'
	r.status = int(status)
	r.stage = headerLine
	return nil
}

// readHeader reads a line of the header. One that begins with space continues
// the one before (RFC 9112, section 5.2), and is ignored where there is none
// (section 2.2).
func (r *Reply) readHeader(line []byte) error {
	if len(line) > 0 && isSpace(line[0]) {
		value, err := fold(line)
		if err == nil && r.field != otherField {
			r.value = append(append(r.value, ' '), value...)
		}
		return err
	}
	if r.field != otherField {
		if err := r.fieldEnds(); err != nil {
			return err
		}
	}
	if len(line) == 0 {
		return r.headerEnds()
	}
	name, value, err := split(line)
	if err != nil {
		return err
	}
	switch {
	case isName(name, "content-length"):
		r.field = lengthField
	case isName(name, "transfer-encoding"):
		r.field = encodingField
	case isName(name, "connection"):
		r.field = connectionField
	default:
		return nil
	}
	r.value = append(r.value[:0], value...)
	return nil
}

// fieldEnds reads the value of a field that matters, now that it is whole.
func (r *Reply) fieldEnds() error {
	switch r.field {
	case lengthField:
		if !r.readLength() {
			return quoted(errLength, r.value)
		}
	case encodingField:
		coding, several := only(r.value)
		if r.chunked || r.old || several || !isName(coding, "chunked") {
			return quoted(errEncoding, r.value)
		}
		r.chunked = true
	default:
		for value := r.value; len(value) > 0; {
			option, rest, _ := bytes.Cut(value, comma)
			option = trim(option)
			r.close = r.close || isName(option, "close")
			r.keepAlive = r.keepAlive || isName(option, "keep-alive")
			value = rest
		}
	}
	r.field = otherField
	return nil
}

// readLength reads a length, or a list in which it is repeated (RFC 9112,
// section 6.3).
func (r *Reply) readLength() bool {
	known := false
	for value := r.value; len(value) > 0; {
		element, rest, _ := bytes.Cut(value, comma)
		value = rest
		if element = trim(element); len(element) == 0 {
			continue // as lists may have (RFC 9110, section 5.6.1)
		}
		n, ok := digits(element)
		if !ok || r.length >= 0 && r.length != n {
			return false
		}
		r.length, known = n, true
	}
	return known
}

// only is the one element of a list that is not empty, and whether there are
// several.
func only(list []byte) (element []byte, several bool) {
	for len(list) > 0 {
		next, rest, _ := bytes.Cut(list, comma)
		list = rest
		if next = trim(next); len(next) == 0 {
			continue
		}
		if element != nil {
			return element, true
		}
		element = next
	}
	return element, false
}

// headerEnds decides what follows the header (RFC 9112, section 6.3).
func (r *Reply) headerEnds() error {
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
	case r.head || r.status == 204 || r.status == 304:
		r.stage = whole
	case r.chunked && r.length >= 0:
		return errBoth // which of the two a server in between has believed is not known
	case r.chunked:
		r.nextLines(chunkSize)
	case r.length == 0:
		r.stage = whole
	case r.length > 0:
		r.stage, r.left = fixedBody, r.length
		return r.grow(r.length)
	default:
		r.stage, r.last = endlessBody, true
	}
	return nil
}

var comma = []byte{','}

// readChunkSize reads a line such as "1f;extension=value". Extensions are
// thrown away.
func (r *Reply) readChunkSize(line []byte) error {
	size, rest, ok := hex(line)
	if rest = trim(rest); !ok || len(rest) > 0 && rest[0] != ';' || bytes.IndexByte(rest, '\r') >= 0 {
		return quoted(errChunk, line)
	}
	if size == 0 {
		r.nextLines(trailerLine)
		return nil
	}
	r.stage, r.left = chunkData, size
	return r.grow(size)
}

// readTrailer reads a line of the trailers, none of which matters.
func (r *Reply) readTrailer(line []byte) (err error) {
	switch {
	case len(line) == 0:
		r.stage = whole
	case isSpace(line[0]):
		_, err = fold(line)
	default:
		_, _, err = split(line)
	}
	return err
}

// split divides "name: value". Space before the colon is taken out, as RFC 9112,
// section 5.1, has proxies do it.
func split(line []byte) (name, value []byte, err error) {
	i := 0
	for i < len(line) && isToken[line[i]] {
		i++
	}
	colon := i
	for colon < len(line) && isSpace(line[colon]) {
		colon++
	}
	if i == 0 || colon == len(line) || line[colon] != ':' || !isValue(line[colon+1:]) {
		return nil, nil, quoted(errField, line)
	}
	return line[:i], trim(line[colon+1:]), nil
}

// fold is what a line adds to the value that it continues.
func fold(line []byte) ([]byte, error) {
	if !isValue(line) {
		return nil, quoted(errField, line)
	}
	return trim(line), nil
}

// isValue finds what RFC 9110, section 5.5, calls dangerous in a value.
func isValue(b []byte) bool { return bytes.IndexByte(b, '\r') < 0 && bytes.IndexByte(b, 0) < 0 }

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// trim removes the space around a value.
func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
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

// digits reads a decimal number of up to 18 digits, and zeros before them.
func digits(b []byte) (int64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if !isDigit(c) || n >= 1e17 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// hex reads a hexadecimal number; one that is too large is larger than any limit.
func hex(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b); i++ {
		d := hexDigit(b[i])
		if d < 0 {
			break
		}
		n = min(n, 1<<56)<<4 | d
	}
	return n, b[i:], i > 0
}

// hexDigit is -1 for other bytes.
func hexDigit(c byte) int64 {
	switch {
	case isDigit(c):
		return int64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int64(c|0x20-'a') + 10
	}
	return -1
}
