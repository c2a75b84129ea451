package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// jsonReader turns JSON into YAML nodes.
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
func readJSON(src []byte, probs *problems) *yamlFile {
	if !readable(src, probs) {
		return nil
	}
	r := &jsonReader{src: src, dec: json.NewDecoder(bytes.NewReader(src)), probs: probs, mark: pos{line: 1, col: 1}}
	r.dec.UseNumber()
	n, err := r.node(0)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		r.note(err)
		return nil
	}
	return &yamlFile{root: n, probs: probs}
}

func (r *jsonReader) end() error {
	at := r.next()
	if _, err := r.dec.Token(); errors.Is(err, io.EOF) {
		return nil
	}
	r.probs.add(at, nil, "text after the end of the job file", "a file holds one JSON object")
	return errNoted
}

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

func (r *jsonReader) node(depth int) (*yaml.Node, error) {
	at := r.next()
	if depth > maxDepth {
		r.probs.add(at, nil, "nested too deeply", fmt.Sprintf("use at most %d levels", maxDepth))
		return nil, errNoted
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: at.line, Column: at.col}
	switch t := token.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if t == '{' {
			n.Kind = yaml.MappingNode
		}
		return n, r.content(n, depth)
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
		if intRE.MatchString(n.Value) {
			n.Tag = "!!int"
		}
	case string:
		n.Tag, n.Value = "!!str", t
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	default:
		n.Tag = "!!null"
	}
	return n, nil
}

// content reads the items of an array, or the keys and values of an object in
// turn, and the end.
func (r *jsonReader) content(n *yaml.Node, depth int) error {
	for r.dec.More() {
		child, err := r.node(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
	}
	_, err := r.dec.Token()
	return err
}
