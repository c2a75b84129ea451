// Package expression bounds what a file may have computed. Who may submit a file may have it
// checked by the server, so that no expression in it may take the server's memory or time.
//
//   - [Regexp] compiles a regular expression of bounded size. Matching one is linear.
//   - [WithMemoryLimit] ends an evaluation that takes too much memory.
//   - [Template] fills in a template within a budget of steps, bytes and time.
package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	// MaxLength is the longest expression, in bytes. Longer ones nest deeper than a stack
	// should have to bear.
	MaxLength = 4 << 10
	// maxInstructions is the largest program of a regular expression. "(x{10}){100}" has a
	// thousand instructions; each takes 40 bytes, and so much time for every byte of text.
	maxInstructions = 10_000
)

// CheckLength refuses an expression that is longer than [MaxLength].
func CheckLength(text string) error {
	if len(text) > MaxLength {
		return fmt.Errorf("%w: it has %d bytes, and may have %d", model.ErrUsage, len(text), MaxLength)
	}
	return nil
}

// Regexp compiles a regular expression in the syntax of RE2.
func Regexp(text string) (*regexp.Regexp, error) {
	if err := CheckLength(text); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if n := instructions(tree); n > maxInstructions {
		return nil, fmt.Errorf("%w: its repetitions make %d instructions of it, and it may have %d", model.ErrUsage, n,
			maxInstructions)
	}
	return regexp.Compile(text)
}

// instructions is about how many instructions a program has: at least as many as it gets.
// It is bounded by the parser, which allows a thousand repetitions within each other.
func instructions(re *syntax.Regexp) int {
	n := 2
	if re.Op == syntax.OpLiteral {
		n += len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
