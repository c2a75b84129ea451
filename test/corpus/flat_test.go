package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/model"
)

// facts are what is recorded of an answer: lines by what they are about.
type facts map[string]string

// seen is what a case says beside that: the codes of its doubts and reasons.
type seen struct {
	facts
	doubts  []model.Doubt
	reasons []string // codes of codes.tsv
	unknown []string // sentences that no row of it matches
}

// Keys of JSON with strings that are no data. Words are compared although they may have
// spaces; labels are not compared; reasons say why, and get a code from codes.tsv.
var (
	words  = []string{"verdict", "method", "answer", "state", "severity", "part"}
	labels = []string{"text", "label", "title", "sla", "by", "among", "target", "demand_source", "capacity_source",
		"binding", "says", "base", "others", "name", "fact", "level", "levels", "a", "b", "from", "to", "run",
		"slot", "platform", "platforms", "names",
		"source", "first", "second", "configuration", "machine", "besides", "limited_by", "units", "fit",
		"unit", "resource", "workload", "metric", "group", "rack", "setting", "intervals", "of", "about", "file"}
	reasons = []string{"warnings", "notes", "why", "uncounted", "refused", "unknown", "told", "misses", "generators",
		"path_change"}
)

// fewElements is up to how many elements each is recorded by itself.
const fewElements = 3

// flatten records an answer, or the error in its place.
func flatten(a answer.Answer, err error, codes table) (seen, error) {
	s := seen{facts: facts{}}
	if err != nil {
		s.facts["exit"] = strconv.Itoa(cli.ExitCode(err))
		s.explain("error", err.Error(), codes)
		return s, nil
	}
	s.facts["exit"] = strconv.Itoa(cli.ExitCode(a.Err()))
	if a.Document != nil {
		s.facts["word"] = word(a.Document.Verdict.Word)
	}
	dec := json.NewDecoder(bytes.NewReader(a.Result))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return s, err
	}
	f := flattener{seen: &s, explained: map[string]float64{}}
	if slices.Contains(inOrder, a.Study) {
		f.arguments = make(map[string]*column)
	}
	f.value("", v)
	for at, c := range f.arguments {
		f.facts[at] = c.String()
	}
	for _, text := range f.sentences {
		if !slices.ContainsFunc(s.doubts, func(d model.Doubt) bool { return strings.HasSuffix(text, d.Text) }) {
			s.explain("reason", text, codes)
		}
	}
	if a.Gate != nil {
		for line := range strings.SplitSeq(a.Gate.Text, "\n") {
			s.explain("gate", line, codes)
		}
	}
	if len(f.strange) > 0 {
		return s, fmt.Errorf("sentences at keys that flat_test.go does not know: %s", strings.Join(f.strange, "; "))
	}
	return s, nil
}

// explain records the code of a sentence that has none of its own.
func (s *seen) explain(what, text string, codes table) {
	code, part, ok := codes.codeOf(text)
	if !ok {
		s.unknown = append(s.unknown, fmt.Sprintf("%s %q", what, text))
		return
	}
	s.reasons = append(s.reasons, code)
	s.facts[strings.TrimSpace(what+" "+code+" "+part)] = "yes"
}

// word is a string as one token.
func word(text string) string { return strings.ReplaceAll(text, " ", "_") }

// flattener goes through the JSON of a result.
type flattener struct {
	*seen
	sentences []string
	strange   []string
	explained map[string]float64
	arguments map[string]*column // of doubts; nil: they are not recorded
}

// last is the key that a path ends with, without numbers of elements.
func last(path string) string {
	parts := strings.Split(path, "/")
	for _, p := range slices.Backward(parts) {
		if _, err := strconv.Atoi(p); err != nil && p != "*" {
			return p
		}
	}
	return ""
}

// value records what is at a path.
func (f *flattener) value(path string, v any) {
	switch x := v.(type) {
	case map[string]any:
		f.object(path, x)
	case []any:
		f.list(path, x)
	default:
		if text, ok := f.leaf(path, x); ok {
			f.facts[path] = text
		}
	}
}

// object records the keys of an object; its doubts are recorded by themselves.
func (f *flattener) object(path string, x map[string]any) {
	for key, v := range x {
		if list, ok := v.([]any); ok && key == "doubts" {
			f.addDoubts(list)
			continue
		}
		f.value(path+"/"+key, v)
	}
}

// list records a short list by element and a long one by column.
func (f *flattener) list(path string, x []any) {
	if len(x) <= fewElements {
		if f.leaves(path, x) {
			return
		}
		f.facts[path+"#"] = strconv.Itoa(len(x))
		for i, v := range x {
			f.value(path+"/"+strconv.Itoa(i), v)
		}
		return
	}
	of := make(map[string]*column)
	for _, v := range x {
		f.column(path+"/*", v, of)
	}
	f.facts[path+"#"] = strconv.Itoa(len(x))
	for at, c := range of {
		f.facts[at] = c.String()
	}
}

// leaves records a short list of values in one line.
func (f *flattener) leaves(path string, x []any) bool {
	out := []string{"["}
	for _, v := range x {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
		text, ok := f.leaf(path, v)
		if !ok {
			text = "text"
		}
		out = append(out, text)
	}
	f.facts[path] = strings.Join(append(out, "]"), " ")
	return true
}

// column adds an element of a long list to the columns by path.
func (f *flattener) column(path string, v any, of map[string]*column) {
	switch x := v.(type) {
	case map[string]any:
		for key, v := range x {
			if list, ok := v.([]any); ok && key == "doubts" {
				f.addDoubts(list)
				continue
			}
			f.column(path+"/"+key, v, of)
		}
	case []any:
		for _, v := range x {
			f.column(path+"/*", v, of)
		}
	default:
		text, ok := f.leaf(path, x)
		if !ok {
			return
		}
		if of[path] == nil {
			of[path] = &column{words: map[string]int{}, ordered: f.arguments != nil}
		}
		of[path].add(text)
	}
}

// leaf is a value as one token; ok is false where it is no data.
func (f *flattener) leaf(path string, v any) (text string, ok bool) {
	switch x := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(x), true
	case json.Number:
		v, err := x.Float64()
		if text := x.String(); err != nil || !strings.ContainsAny(text, ".eE") {
			return text, true
		}
		return number(v), true
	case string:
		key := last(path)
		switch {
		case slices.Contains(words, key):
			return word(x), true
		case slices.Contains(reasons, key) && strings.Contains(x, " "):
			if !slices.Contains(f.sentences, x) {
				f.sentences = append(f.sentences, x)
			}
			return "", false
		case !strings.Contains(x, " ") || key == "limit": // of several limits, all are named
			return strconv.Quote(word(x)), true
		case !slices.Contains(labels, key):
			f.strange = append(f.strange, fmt.Sprintf("%s: %q", path, x))
		}
	}
	return "", false
}

// inOrder are the questions of which lists are recorded so that elements cannot change
// places, and doubts with their numbers and parts.
var inOrder = []string{"pressure", "levels", "levelfit", "servicelevel"}

// argue records numbers and parts of doubts by code.
func (f *flattener) argue(list []any) {
	for _, v := range list {
		x, _ := v.(map[string]any)
		args, _ := x["args"].(map[string]any)
		said := map[string]any{"part": x["part"]}
		for key, arg := range args {
			if _, ok := arg.(json.Number); ok {
				said[key] = arg
			}
		}
		f.column(fmt.Sprintf("/doubts/%s", x["code"]), said, f.arguments)
	}
}

// addDoubts records doubts by code, severity and subject, with what they explain.
func (f *flattener) addDoubts(list []any) {
	if f.arguments != nil {
		f.argue(list)
	}
	b, err := json.Marshal(list)
	var doubts []model.Doubt
	if err != nil || json.Unmarshal(b, &doubts) != nil {
		f.strange = append(f.strange, "doubts of another form")
		return
	}
	for _, d := range doubts {
		f.doubts = append(f.doubts, d)
		key := fmt.Sprintf("doubt %s %s", d.Code, d.Severity)
		for _, x := range []struct{ name, value string }{
			{"workload", word(d.Workload)}, {"phase", string(d.Phase)}, {"trial", positive(d.Trial)},
			{"node", string(d.Node)}, {"steps", strings.ReplaceAll(strings.Trim(fmt.Sprint(d.Steps), "[]"), " ", ",")},
		} {
			if x.value != "" {
				key += " " + x.name + "=" + x.value
			}
		}
		f.facts[key] = "yes"
		if d.Explains != nil {
			f.explained[key] = max(f.explained[key], *d.Explains)
			f.facts[key] = "explains=" + number(f.explained[key])
		}
	}
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// number is recorded with more digits than are compared.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 14, 64) }

// column is what the elements of a long list have at one place.
type column struct {
	n            int
	first, last  float64
	sum, squares float64
	differ       bool
	words        map[string]int
	// ordered: the order counts, so that values of two elements cannot change places.
	ordered bool
	order   float64  // the sum of values, each times its place
	runs    []string // words in their order, each once as long as it is repeated
}

func (c *column) add(text string) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		c.words[text]++
		if len(c.runs) == 0 || c.runs[len(c.runs)-1] != text {
			c.runs = append(c.runs, text)
		}
		return
	}
	if c.n == 0 {
		c.first = v
	}
	c.differ = c.differ || v != c.first
	c.n, c.last, c.sum, c.squares = c.n+1, v, c.sum+v, c.squares+v*v
	c.order += float64(c.n) * v
}

func (c *column) String() string {
	var out []string
	switch {
	case c.n > 0 && !c.differ && c.ordered:
		out = append(out, fmt.Sprintf("n=%d each=%s", c.n, number(c.first)))
	case c.n > 0 && c.ordered:
		out = append(out, fmt.Sprintf("n=%d first=%s last=%s sum=%s order=%s",
			c.n, number(c.first), number(c.last), number(c.sum), number(c.order)))
	case c.n > 0 && !c.differ:
		out = append(out, fmt.Sprintf("n=%d all=%s", c.n, number(c.first)))
	case c.n > 0:
		out = append(out, fmt.Sprintf("n=%d first=%s last=%s sum=%s squares=%s",
			c.n, number(c.first), number(c.last), number(c.sum), number(c.squares)))
	}
	for text, n := range c.words {
		out = append(out, fmt.Sprintf("%s×%d", text, n))
	}
	slices.Sort(out)
	if c.ordered && len(c.runs) > 1 {
		out = append(out, "as", strings.Join(c.runs, ">"))
	}
	const most = 12 // of more words there is one line too long
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("more×%d", len(out)-most))
	}
	return strings.Join(out, " ")
}

// near is the relative difference that two numbers may have, and the absolute one near 0.
const near = 1e-12

// same compares two values token by token, numbers within what they may differ.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := tokens(a), tokens(b)
	if len(x) != len(y) {
		return false
	}
	scale := max(scaleOf(x), scaleOf(y))
	for i := range x {
		nameX, textX := cutNumber(x[i])
		nameY, textY := cutNumber(y[i])
		v, errX := strconv.ParseFloat(textX, 64)
		w, errY := strconv.ParseFloat(textY, 64)
		if nameX != nameY || errX != nil || errY != nil {
			if x[i] != y[i] {
				return false
			}
			continue
		}
		room := near * max(math.Abs(v), math.Abs(w))
		if nameX == "sum" { // what is added up may cancel out
			room = max(room, near*scale)
		}
		if math.Abs(v-w) > max(room, near) {
			return false
		}
	}
	return true
}

// tokens are those of a value. What all elements of a column have is told as if they
// differed, because on another machine they may, by as much as is allowed.
func tokens(text string) []string {
	out := strings.Fields(text)
	for i := 1; i < len(out); i++ {
		of, count := cutNumber(out[i-1])
		kind, value := cutNumber(out[i])
		n, errN := strconv.ParseFloat(count, 64)
		v, errV := strconv.ParseFloat(value, 64)
		if of != "n" || kind != "all" && kind != "each" || errN != nil || errV != nil {
			continue
		}
		fourth := "squares=" + number(n*v*v)
		if kind == "each" {
			fourth = "order=" + number(v*n*(n+1)/2)
		}
		return slices.Replace(out, i, i+1, "first="+number(v), "last="+number(v), "sum="+number(n*v), fourth)
	}
	return out
}

// cutNumber divides "sum=1.5".
func cutNumber(token string) (name, value string) {
	if name, value, ok := strings.Cut(token, "="); ok {
		return name, value
	}
	return "", token
}

// scaleOf is how large a sum of as many numbers with such squares may be.
func scaleOf(tokens []string) float64 {
	n, squares := 0.0, 0.0
	for _, t := range tokens {
		switch name, text := cutNumber(t); name {
		case "n":
			n, _ = strconv.ParseFloat(text, 64)
		case "squares":
			squares, _ = strconv.ParseFloat(text, 64)
		}
	}
	return math.Sqrt(n * squares)
}
