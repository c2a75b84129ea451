package loadserver

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// Limits of a request, in bytes.
const (
	maxHead = 64 << 10
	maxBody = 16 << 20
)

// errRequest: the data are not a request that this server understands. It does
// not take chunked bodies: a generator knows the length of what it sends.
var errRequest = errors.New("malformed or unsupported request")

// request is what the server needs to know of one.
type request struct {
	head  bool // HEAD: the answer has no body
	close bool // the client wants the connection closed afterwards
}

// parse reads the request at the beginning of b, with its body, and returns
// its length in bytes; 0 where it is not complete.
func parse(b []byte) (request, int, error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) > maxHead {
			return request{}, 0, errRequest
		}
		return request{}, 0, nil
	}
	line, fields, _ := bytes.Cut(b[:end], []byte("\r\n"))
	r, err := parseLine(line)
	if err != nil {
		return request{}, 0, err
	}
	length, err := parseFields(&r, fields)
	if err != nil {
		return request{}, 0, err
	}
	whole := end + len("\r\n\r\n") + length
	if len(b) < whole {
		return request{}, 0, nil
	}
	return r, whole, nil
}

// parseLine reads the request line: "GET /path HTTP/1.1". Connections of
// HTTP/1.0 are closed after the answer.
func parseLine(line []byte) (request, error) {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	target, version, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok || !ok2 || len(method) == 0 || len(target) == 0 || hasBareEnd(line) || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return request{}, errRequest
	}
	switch string(version[len("HTTP/1."):]) {
	case "0":
		return request{head: string(method) == "HEAD", close: true}, nil
	case "1":
		return request{head: string(method) == "HEAD"}, nil
	}
	return request{}, errRequest
}

// parseFields reads the header fields and returns the length of the body.
func parseFields(r *request, fields []byte) (length int, err error) {
	length = -1
	for len(fields) > 0 {
		var line []byte
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 || bytes.ContainsAny(name, " \t") || hasBareEnd(line) {
			return 0, errRequest
		}
		value = bytes.Trim(value, " \t")
		switch {
		case equalFold(name, "content-length"):
			if length, err = contentLength(length, value); err != nil {
				return 0, err
			}
		case equalFold(name, "transfer-encoding"):
			return 0, errRequest
		case equalFold(name, "connection"):
			r.close = r.close || hasToken(value, "close")
		}
	}
	return max(length, 0), nil
}

// hasBareEnd: a line that ends with CRLF holds one of the two alone, at which
// others would end it.
func hasBareEnd(line []byte) bool { return bytes.ContainsAny(line, "\r\n") }

// contentLength reads a length; where there was one before (not -1), it must
// be the same.
func contentLength(before int, value []byte) (int, error) {
	n, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil || n > maxBody || (before >= 0 && before != int(n)) {
		return 0, errRequest
	}
	return int(n), nil
}

// equalFold compares with a name in lower case; most differ in length.
func equalFold(b []byte, lower string) bool {
	return len(b) == len(lower) && strings.EqualFold(string(b), lower)
}

// hasToken looks for a word in a comma-separated list.
func hasToken(list []byte, token string) bool {
	for word := range bytes.SplitSeq(list, []byte(",")) {
		if equalFold(bytes.Trim(word, " \t"), token) {
			return true
		}
	}
	return false
}
