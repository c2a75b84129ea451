package http1

import "bytes"

// field splits "name: value". There is no space around the name; a line that
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
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

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

// hexDigit is -1 for what is none.
func hexDigit(c byte) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int64(c|0x20-'a') + 10
	}
	return -1
}
