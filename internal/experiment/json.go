package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// jsonReader turns JSON into values with positions.
type jsonReader struct {
	src   []byte
	dec   *json.Decoder
	probs *problems
	// mark is the last position asked for, and its offset: so that finding the
	// next one does not begin at the start of the file.
	mark   pos
	offset int
}

// errNoted stops reading after an error that has been noted.
var errNoted = errors.New("noted")

// readJSON parses a file; it notes an error and returns nil when it cannot.
func readJSON(src []byte, probs *problems) *value {
	if !readable(src, probs) {
		return nil
	}
	r := &jsonReader{src: src, dec: json.NewDecoder(bytes.NewReader(src)), probs: probs, mark: pos{line: 1, col: 1}}
	r.dec.UseNumber()
	v, err := r.value(0)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		r.note(err)
		return nil
	}
	return v
}

// end reports anything that follows the first value.
func (r *jsonReader) end() error {
	at := r.next()
	if _, err := r.dec.Token(); errors.Is(err, io.EOF) {
		return nil
	}
	r.probs.add(at, nil, "text after the end of the job file", "a file holds one JSON object")
	return errNoted
}

// note adds an error of the decoder at its position.
func (r *jsonReader) note(err error) {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, errNoted):
	case errors.As(err, &syntax):
		// Offset counts the bytes read, the offending one included.
		r.probs.add(offsetPos(r.src, max(int(syntax.Offset)-1, 0)), nil, "not valid JSON: "+syntax.Error(), "")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.probs.add(offsetPos(r.src, len(r.src)), nil, "not valid JSON: the file ends too early", "")
	default:
		r.probs.add(r.next(), nil, "not valid JSON: "+err.Error(), "")
	}
}

// next is the position of the token that comes next: the decoder stands behind
// the last one, before any space, comma or colon.
func (r *jsonReader) next() pos {
	i := int(r.dec.InputOffset())
	for i < len(r.src) && strings.IndexByte(" \t\r\n,:", r.src[i]) >= 0 {
		i++
	}
	for ; r.offset < i; r.offset++ {
		switch c := r.src[r.offset]; {
		case c == '\n':
			r.mark.line, r.mark.col = r.mark.line+1, 1
		case utf8.RuneStart(c):
			r.mark.col++
		}
	}
	return r.mark
}

// value reads the next value.
func (r *jsonReader) value(depth int) (*value, error) {
	v := &value{at: r.next()}
	if depth > maxDepth {
		r.probs.add(v.at, nil, "nested too deeply", fmt.Sprintf("use at most %d levels", maxDepth))
		return nil, errNoted
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			v.kind = objectValue
			return v, r.object(v, depth)
		}
		v.kind = arrayValue
		return v, r.array(v, depth)
	case json.Number:
		v.setNumber(t.String())
	case string:
		v.scalar = t
		if strings.ContainsRune(t, 0) {
			v.spoil("the text holds a NUL character", "remove it")
		}
	default:
		v.scalar = t
	}
	return v, nil
}

// setNumber gives a JSON number the type that YAML numbers have.
func (v *value) setNumber(n string) {
	read := float
	if intRE.MatchString(n) {
		read = integer
	}
	number, problem, allowed := read(n)
	v.scalar = number
	v.spoil(problem, allowed)
}

func (r *jsonReader) object(v *value, depth int) error {
	first := map[string]pos{}
	for r.dec.More() {
		at := r.next()
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // the decoder guarantees a string
		child, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if was, ok := first[key]; ok {
			v.duplicate(key, at, was)
			continue
		}
		first[key] = at
		v.members = append(v.members, member{key, at, child})
	}
	_, err := r.dec.Token()
	return err
}

func (r *jsonReader) array(v *value, depth int) error {
	for r.dec.More() {
		child, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.items = append(v.items, child)
	}
	_, err := r.dec.Token()
	return err
}
