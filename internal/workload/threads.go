package workload

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MaxThreads is how many a node may have.
const MaxThreads = 4096

// Threads is how many threads a node works with: a number, or so many for each core.
type Threads struct {
	Number  int     `json:"-" plain:"true" jsonschema:"minimum=1,maximum=4096"`
	PerCore PerCore `json:"-" plain:"true"`
}

// PerCore is "all", which is one for each core, or "2 per core".
type PerCore string

// PerCorePattern is the form of PerCore as an ECMA 262 regular expression.
const PerCorePattern = `^(all|[1-9][0-9]{0,3} per core)$`

var perCoreRE = regexp.MustCompile(PerCorePattern)

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PerCore) UnmarshalText(text []byte) error {
	if !perCoreRE.Match(text) {
		return fmt.Errorf(`%q is not a number of threads: use a number, all, or such as "2 per core"`, text)
	}
	*p = PerCore(text)
	return nil
}

// On is the number of threads on a node with so many cores; 0: none was asked for. The
// error says that they are too many.
func (t Threads) On(cores int) (int, error) {
	if t.PerCore == "" {
		return t.Number, nil
	}
	each := 1
	if number, _, ok := strings.Cut(string(t.PerCore), " "); ok {
		each, _ = strconv.Atoi(number) // the pattern guarantees it
	}
	if n := each * max(cores, 1); n <= MaxThreads {
		return n, nil
	}
	return 0, fmt.Errorf("%s are more than %d on a node with %d cores: use fewer for each core", t.PerCore, MaxThreads,
		cores)
}

// Report publishes how many threads the node has, where the file does not say that.
func (t Threads) Report(r Reporter, number int) {
	if t.PerCore != "" {
		r.Sample(Info("threads", "thread", float64(number)))
	}
}

// MarshalJSON implements json.Marshaler: the number or the text.
func (t Threads) MarshalJSON() ([]byte, error) {
	if t.PerCore != "" {
		return json.Marshal(string(t.PerCore))
	}
	return json.Marshal(t.Number)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Threads) UnmarshalJSON(text []byte) error {
	*t = Threads{}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &t.PerCore)
	}
	return json.Unmarshal(text, &t.Number)
}
