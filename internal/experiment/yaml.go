package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Limits on hostile files. Experiments of users stay far below them.
const (
	maxSource = 1 << 20 // bytes of a file
	maxDepth  = 50      // nesting of objects and arrays
	maxCost   = 8 << 20 // of the tree with all aliases expanded: bytes of scalars, and nodeCost for each node
	nodeCost  = 100
)

// yamlFile is an experiment or job file as YAML nodes, without aliases and merge
// keys. Nodes that came from a flag are in origin.
type yamlFile struct {
	root   *yaml.Node // a mapping, if the file is right
	origin map[*yaml.Node]pos
	probs  *problems
	cost   int
}

// readYAML parses a file; it notes an error and returns nil when it cannot.
func readYAML(src []byte, probs *problems) *yamlFile {
	if !readable(src, probs) {
		return nil
	}
	doc, at, problem := loadOne(src)
	if problem != "" {
		probs.add(at, nil, problem, "")
		return nil
	}
	f := &yamlFile{origin: map[*yaml.Node]pos{}, probs: probs}
	if f.root = f.expand(doc, 0); f.root == nil {
		return nil
	}
	return f
}

const emptyFile = "the file is empty"

// loadOne returns the content of the one document that a file must hold.
func loadOne(src []byte) (content *yaml.Node, at pos, problem string) {
	loader, err := yaml.NewLoader(bytes.NewReader(src), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, pos{}, err.Error()
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF) || (err == nil && len(doc.Content) != 1):
		return nil, pos{}, emptyFile
	case err != nil:
		at, problem = yamlProblem(err)
		return nil, at, problem
	}
	switch err := loader.Load(&more); {
	case err == nil:
		return nil, nodePos(&more), "a second document begins here; a file holds one"
	case !errors.Is(err, io.EOF):
		at, problem = yamlProblem(err)
		return nil, at, problem
	}
	return doc.Content[0], pos{}, ""
}

// readable refuses files that are too large or not UTF-8.
func readable(src []byte, probs *problems) bool {
	if len(src) > maxSource {
		probs.add(pos{}, nil, fmt.Sprintf("the file has %d bytes", len(src)), "use at most 1MiB")
		return false
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if (r == utf8.RuneError && n == 1) || (r < ' ' && r != '\n' && r != '\r' && r != '\t') {
			probs.add(offsetPos(src, i), nil, fmt.Sprintf("byte 0x%02x is not text", src[i]), "the file must be UTF-8")
			return false
		}
		i += n
	}
	return true
}

func offsetPos(src []byte, offset int) pos {
	before := src[:min(offset, len(src))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return pos{line: bytes.Count(before, []byte{'\n'}) + 1, col: utf8.RuneCount(before[lineStart:]) + 1}
}

// yamlProblem takes position and text out of an error of the YAML library.
func yamlProblem(err error) (pos, string) {
	var le *yaml.LoadError
	var les *yaml.LoadErrors
	switch {
	case errors.As(err, &le):
		text := le.Message
		if le.ContextMsg != "" {
			text = le.ContextMsg + ": " + text
		}
		return pos{line: le.Mark.Line, col: le.Mark.Column}, "not valid YAML: " + text
	case errors.As(err, &les) && len(les.Errors) > 0:
		return pos{}, "not usable YAML: " + les.Errors[0].Message
	}
	return pos{}, "not valid YAML: " + err.Error()
}

// expand returns a copy of a node in which every alias is replaced by what it
// stands for and every merge key by what it merges. It notes an error and
// returns nil where the result would be too deep or too large.
func (f *yamlFile) expand(n *yaml.Node, depth int) *yaml.Node {
	f.cost += nodeCost + len(n.Value)
	switch {
	case f.cost > maxCost:
		f.probs.add(nodePos(n), nil, "too large with all aliases expanded", "")
		return nil
	case depth > maxDepth:
		f.probs.add(nodePos(n), nil, "nested too deeply, or an alias that contains itself", fmt.Sprintf("use at most %d levels", maxDepth))
		return nil
	case n.Kind == yaml.AliasNode:
		c := f.expand(n.Alias, depth+1)
		if c != nil {
			c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
		}
		return c
	}
	c := *n
	c.Anchor = ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		if c.Content[i] = f.expand(child, depth+1); c.Content[i] == nil {
			return nil
		}
	}
	f.merge(&c)
	return &c
}

// merge replaces the merge keys of a mapping by the keys they bring in; keys
// that the mapping has itself win, and earlier sources win over later ones.
func (f *yamlFile) merge(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	var own, sources []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.ShortTag() != "!!merge" {
			own = append(own, key, val)
			continue
		}
		if val.Kind == yaml.SequenceNode {
			sources = append(sources, val.Content...)
		} else {
			sources = append(sources, val)
		}
	}
	if len(sources) == 0 {
		return
	}
	n.Content = f.mergeInto(own, sources)
}

// mergeInto appends to own the key-value pairs of the sources, unless own has
// the key already.
func (f *yamlFile) mergeInto(own, sources []*yaml.Node) []*yaml.Node {
	have := map[string]bool{}
	for i := 0; i < len(own); i += 2 {
		have[own[i].Value] = true
	}
	for _, s := range sources {
		if s.Kind != yaml.MappingNode {
			f.probs.add(nodePos(s), []string{"<<"}, "a merge key needs a mapping", "write <<: *anchor, with &anchor before a mapping")
			continue
		}
		for i := 0; i+1 < len(s.Content); i += 2 {
			if key := s.Content[i]; !have[key.Value] {
				have[key.Value] = true
				own = append(own, key, s.Content[i+1])
			}
		}
	}
	return own
}

func nodePos(n *yaml.Node) pos { return pos{line: n.Line, col: n.Column} }

func (f *yamlFile) pos(n *yaml.Node) pos {
	if at, ok := f.origin[n]; ok {
		return at
	}
	return nodePos(n)
}

// extend returns path with a token appended, never sharing memory with other
// extensions of the same path.
func extend(path []string, token string) []string {
	return append(path[:len(path):len(path)], token)
}

// Numbers are written as in JSON, with an optional plus sign. YAML's other
// forms mean different things to different readers: 017 is 15 or 17.
var (
	intRE   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	floatRE = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
)

const numberAllowed = `numbers are decimal, without leading zeros or underscores; put text in quotes`

// maxInteger is the largest integer that every reader of JSON represents
// exactly: 2^53 − 1 (RFC 7493, section 2.2).
const maxInteger = 1<<53 - 1

// scalar returns the value of a scalar node, or what is wrong with it.
func scalar(n *yaml.Node) (v any, problem, allowed string) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge": // a date means nothing here but its text
		if strings.ContainsRune(n.Value, 0) {
			return "", "the text holds a NUL character", "remove it"
		}
		return n.Value, "", ""
	case "!!null":
		return nil, "", ""
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return false, fmt.Sprintf("%q is not true or false", n.Value), ""
		}
		return b, "", ""
	case "!!int":
		return integer(n.Value)
	case "!!float":
		return float(n.Value)
	default:
		return nil, fmt.Sprintf("the tag %s has no meaning here", tag), "remove it"
	}
}

func integer(s string) (v any, problem, allowed string) {
	if !intRE.MatchString(s) {
		return int64(0), fmt.Sprintf("%q is not a plain number", s), numberAllowed
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil || i > maxInteger || i < -maxInteger {
		return int64(0), s + " is too large", "use at most 9007199254740991 (2^53 - 1)"
	}
	return i, "", ""
}

func float(s string) (v any, problem, allowed string) {
	x, err := strconv.ParseFloat(s, 64)
	if !floatRE.MatchString(s) || err != nil || math.IsInf(x, 0) {
		return 0.0, fmt.Sprintf("%q is not a plain number", s), numberAllowed
	}
	if x == math.Trunc(x) && math.Abs(x) <= maxInteger {
		return int64(x), "", "" // 1e3 and 2.0 are whole numbers
	}
	return x, "", ""
}
