package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// read extracts the metric from the text of its stream. The error says what
// was looked for and shows the text's begin.
func (m Metric) read(ctx context.Context, text []byte) (v float64, err error) {
	var what string
	switch {
	case m.JSON != "":
		what = "json " + m.JSON
		v, err = readJSON(ctx, m.JSON, text)
	case m.Regex != "":
		what = "regex " + m.Regex
		v, err = readRegex(ctx, m.Regex, text)
	default:
		what = "the whole output as a number"
		v, err = parseNumber(string(bytes.TrimSpace(text)))
	}
	if err != nil {
		return 0, fmt.Errorf("metric %s: looking for %s in %s: %w; the output begins: %s", m.Name, what, cmp.Or(m.From, "stdout"), err, excerpt(text))
	}
	return v, nil
}

// excerpt is the begin of a text, quoted.
func excerpt(text []byte) string {
	const length = 200
	switch {
	case len(text) == 0:
		return "(nothing was printed)"
	case len(text) > length:
		return strconv.Quote(string(text[:length])) + "…"
	}
	return strconv.Quote(string(text))
}

// numberForm is a decimal number with an optional exponent. ParseFloat alone
// would take "inf", "nan" and hexadecimal, too.
var numberForm = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func parseNumber(s string) (float64, error) {
	if !numberForm.MatchString(s) {
		return 0, fmt.Errorf("%s is not a number", excerpt([]byte(s)))
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number that can be held: %w", s, errors.Unwrap(err))
	}
	return v, nil
}

// readRegex returns the group of the last match: the summary of most tools
// comes last.
func readRegex(_ context.Context, expression string, text []byte) (float64, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return 0, err
	}
	all := re.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, errors.New("no match")
	}
	return parseNumber(strings.TrimSpace(string(all[len(all)-1][1])))
}

// readJSON evaluates a jq expression on the text, or on its last line if the
// text as a whole is no JSON document (tools that log before they report).
func readJSON(ctx context.Context, expression string, text []byte) (float64, error) {
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		lines := bytes.TrimRight(text, "\r\n \t")
		if json.Unmarshal(lines[bytes.LastIndexByte(lines, '\n')+1:], &doc) != nil {
			return 0, fmt.Errorf("neither the output nor its last line is a JSON document: %w", err)
		}
	}
	return evaluate(ctx, expression, doc)
}

// evaluationTime bounds an expression that does not end (`range(infinite)`).
const evaluationTime = 10 * time.Second

// evaluate returns the one number that the expression gives.
func evaluate(ctx context.Context, expression string, doc any) (float64, error) {
	code, err := compileJSON(expression)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, evaluationTime)
	defer cancel()
	values := code.RunWithContext(ctx, doc)
	v, ok := values.Next()
	if !ok {
		return 0, errors.New("the expression gives nothing")
	}
	if _, more := values.Next(); more {
		return 0, errors.New("the expression gives more than one value")
	}
	return number(v)
}

// number converts what jq gave. A string with a number in it counts: several
// tools quote theirs.
func number(v any) (float64, error) {
	switch v := v.(type) {
	case error:
		return 0, v
	case nil:
		return 0, errors.New("the expression gives null: there is no such value")
	case int:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("the expression gives %v", v)
		}
		return v, nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, nil
	case string:
		return parseNumber(strings.TrimSpace(v))
	}
	return 0, fmt.Errorf("the expression gives %s and not a number", gojq.TypeOf(v))
}

func compileJSON(expression string) (*gojq.Code, error) {
	q, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(q)
}
