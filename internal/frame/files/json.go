package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// jsonBegins is how a file of JSON begins that may have rows: objects one after the
// other, or a list of some.
var jsonBegins = regexp.MustCompile(`^\s*(\{\s*["}]|\[\s*[\[{"\d-])`)

const jsonAllowed = "give objects of numbers and texts, one a line or in a list, or what hyperfine --export-json writes"

// jsonRows reads objects as a table that is text, with a column for each key.
type jsonRows struct {
	file   *file
	in     *json.Decoder
	source *limited
	list   bool // the objects are in a list
	queue  []record
	keys   []string // of the columns
	at     map[string]int
	rows   int
	nested []string // keys that have lists or objects, and are no columns
	inRows nesting  // those of objects that are rows
	within string   // what the objects are in, for jq
	text   bytes.Buffer
	out    *csv.Writer
	err    error
}

// record is an object: keys in their order, and their values as text.
type record struct{ keys, values []string }

func (r *record) add(key, value string) {
	r.keys, r.values = append(r.keys, key), append(r.values, value)
}

// limited refuses an object that takes more than a row may.
type limited struct {
	io.Reader
	left int
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, tabular.ErrLongRow
	}
	n, err := l.Reader.Read(p)
	l.left -= n
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}

// json turns the file into a table that is text. Its columns are the keys of the first
// objects.
func (f *file) json() error {
	source := &limited{Reader: f.in, left: longestRow}
	j := &jsonRows{file: f, source: source, in: json.NewDecoder(source), at: make(map[string]int)}
	j.out = csv.NewWriter(&j.text)
	err := error(nil)
	for err == nil && len(j.queue) < mostLooked {
		err = j.next()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return f.unreadable(err, j.rows)
	}
	for _, r := range j.queue {
		for _, k := range r.keys {
			if _, known := j.at[k]; !known {
				j.at[k], j.keys = len(j.keys), append(j.keys, k)
			}
		}
	}
	switch {
	case len(j.keys) > tabular.MostColumns:
		return j.wrong("there are "+num.Count(len(j.keys), "key"),
			fmt.Sprintf("give at most %s", num.Grouped(tabular.MostColumns)))
	case len(j.keys) == 0:
		return j.wrong("no object has a number or a text", jsonAllowed)
	}
	f.nested = j.inRows
	if j.goTest() {
		return f.wrong("go test -json wrote it, with the results inside of texts",
			"take these: jq -rj 'select(.Action == \"output\").Output' "+f.name+" > bench.txt")
	}
	if len(j.nested) > 0 {
		f.say("left out, as they hold lists or objects: %s", num.List(j.nested))
	}
	j.err = j.out.Write(j.keys)
	f.in, f.row = bufio.NewReaderSize(j, peekSize), "row"
	return nil
}

// goTest reports whether the objects are events of go test -json.
func (j *jsonRows) goTest() bool {
	return !slices.ContainsFunc([]string{"Action", "Package", "Output"}, func(key string) bool {
		_, there := j.at[key]
		return !there
	})
}

// nesting is which keys of rows hold lists or objects, and a filter for jq that puts the
// one with the most numbers into the rows; "" where none has any.
type nesting struct {
	keys    []string
	filter  string
	numbers int
}

// member is a number within an object, and plainKey a key that jq needs no quotation
// marks for.
var (
	member   = regexp.MustCompile(`:\s*-?\d`)
	plainKey = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// add notes a key; within is what the objects are in.
func (n *nesting) add(key string, value []byte, within string) {
	n.keys = noteKey(n.keys, key)
	if numbers := len(member.FindAll(value, -1)); value[0] == '{' && numbers > n.numbers {
		n.numbers = numbers
		n.filter = fmt.Sprintf("%s. + %[2]s | del(%[2]s)", within, jqKey(key))
	}
}

// noteKey adds a key to those that messages name.
func noteKey(keys []string, key string) []string {
	if len(keys) == mostLines || slices.Contains(keys, key) {
		return keys
	}
	return append(keys, key)
}

// jqKey is how jq names a key.
func jqKey(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return fmt.Sprintf(".%q", key)
}

// allowed is what to do with a file of such objects.
func (n *nesting) allowed(file string) string {
	if n.filter == "" {
		return "give objects of numbers and texts; jq can flatten these"
	}
	return fmt.Sprintf("flatten them, such as with jq -c '%s' %s > flat.jsonl", n.filter, file)
}

func (j *jsonRows) wrong(problem, allowed string) error {
	return j.file.wrongAt(j.rows, min(j.rows, 1), problem, allowed)
}

// Read implements io.Reader: the table as text.
func (j *jsonRows) Read(p []byte) (int, error) {
	for j.text.Len() == 0 {
		switch {
		case j.err != nil:
			return 0, j.err
		case len(j.queue) == 0:
			j.err = j.next()
		default:
			j.err = j.write(j.queue[0])
			j.queue = j.queue[1:]
		}
		j.out.Flush()
	}
	return j.text.Read(p) //nolint:wrapcheck // it has none
}

// write writes an object as a row.
func (j *jsonRows) write(r record) error {
	cells := make([]string, len(j.keys))
	for i, k := range r.keys {
		at, known := j.at[k]
		if !known {
			return j.wrong(fmt.Sprintf("the key %q is none of the first %d objects", k, mostLooked),
				"give it in the first one, perhaps as null")
		}
		cells[at] = r.values[i]
	}
	return j.out.Write(cells) //nolint:wrapcheck // into memory
}

// next reads the next object into the queue: as one row, or as those that it lists.
func (j *jsonRows) next() error {
	if !j.list {
		if begins, err := j.peek(); err != nil || begins {
			return err
		}
	}
	if j.list && !j.in.More() {
		if _, err := j.in.Token(); err != nil {
			return j.broken(err)
		}
		j.list = false
		return nil
	}
	var raw json.RawMessage
	if err := j.in.Decode(&raw); err != nil {
		return j.broken(err)
	}
	j.source.left = longestRow
	j.rows++
	return j.object(raw, true)
}

// peek begins a list where one begins.
func (j *jsonRows) peek() (begins bool, err error) {
	if !j.in.More() {
		return false, io.EOF
	}
	head, err := io.ReadAll(io.LimitReader(j.in.Buffered(), 1<<10))
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", j.file.name, err)
	}
	if head = bytes.TrimSpace(head); len(head) == 0 || head[0] != '[' {
		return false, nil
	}
	_, err = j.in.Token()
	j.list = true
	return true, j.broken(err)
}

// object adds the rows of an object to the queue. One that lists objects, as a report
// does, stands for those.
func (j *jsonRows) object(raw json.RawMessage, whole bool) error {
	var (
		r      record
		list   list
		nested [][2]string // keys and values
		times  []json.Number
	)
	in := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return j.wrong("there is something else than an object", jsonAllowed)
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return j.broken(err)
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return j.broken(err)
		}
		name, _ := key.(string)
		if len(r.keys) > tabular.MostColumns {
			return j.wrong("an object has too many keys",
				fmt.Sprintf("give at most %s", num.Grouped(tabular.MostColumns)))
		}
		switch text, scalar := scalarOf(value); {
		case scalar:
			r.add(name, text)
		case whole && j.longer(&list, name, value):
		case name == "times" && json.Unmarshal(value, &times) == nil:
		case name == "parameters":
			r.parameters(value)
		default:
			nested = append(nested, [2]string{name, string(value)})
			j.nested = noteKey(j.nested, name)
		}
	}
	if list.objects != nil {
		j.within = jqKey(list.key) + "[] | "
		for _, one := range list.objects {
			if err := j.object(one, false); err != nil {
				return err
			}
		}
		return nil
	}
	if command := slices.Index(r.keys, "command"); command >= 0 && len(times) > 0 {
		j.hyperfine(r, r.values[command], times)
		return nil
	}
	j.nest(nested)
	j.queue = append(j.queue, r)
	return nil
}

// list is objects that stand in a list within another one.
type list struct {
	key     string
	objects []json.RawMessage
}

// longer takes a list of objects that is longer than the one so far.
func (j *jsonRows) longer(of *list, key string, value json.RawMessage) bool {
	var objects []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &objects) != nil || len(objects) <= len(of.objects) || objects[0][0] != '{' {
		return false
	}
	if of.objects != nil {
		j.nested = noteKey(j.nested, of.key)
	}
	*of = list{key, objects}
	return true
}

// nest notes the keys of a row that hold lists or objects, and what these are.
func (j *jsonRows) nest(nested [][2]string) {
	within := j.within
	if j.list {
		within = ".[] | "
	}
	for _, of := range nested {
		j.inRows.add(of[0], []byte(of[1]), within)
	}
}

// scalarOf is a value as a cell; scalar: it is neither a list nor an object.
func scalarOf(value json.RawMessage) (text string, scalar bool) {
	switch value[0] {
	case '{', '[':
		return "", false
	case '"':
		return text, json.Unmarshal(value, &text) == nil
	case 'n':
		return "", true
	}
	return string(value), true
}

// parameters adds what hyperfine varied, called as in its CSV.
func (r *record) parameters(value json.RawMessage) {
	var all map[string]string
	if json.Unmarshal(value, &all) != nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		r.add("parameter_"+k, all[k])
	}
}

// hyperfine adds the times of a command, in seconds, as a row each.
func (j *jsonRows) hyperfine(of record, command string, times []json.Number) {
	for _, t := range times {
		r := record{[]string{"workload", "metric", "unit", "better", "value"},
			[]string{command, "time", "s", string(model.Lower), t.String()}}
		for i, k := range of.keys {
			if strings.HasPrefix(k, "parameter_") {
				r.add(k, of.values[i])
			}
		}
		j.queue = append(j.queue, r)
	}
}

// broken is why JSON cannot be read.
func (j *jsonRows) broken(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		j.rows++
		return j.wrong(fmt.Sprintf("it is no valid JSON (%v)", err), "make or copy it again")
	}
	return err
}
