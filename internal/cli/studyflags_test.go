package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// flagParams has a field of every type that a flag can have.
type flagParams struct {
	flagInner
	Text     string            `json:"text" flag:"text,t" jsonschema_description:"Some text."`
	Count    int               `json:"count" flag:"count" jsonschema_description:"How many."`
	Large    int64             `json:"large,omitempty" flag:"large" jsonschema_description:"Large."`
	Share    float64           `json:"share,omitempty" flag:"share" jsonschema_description:"A share (default 0.5)."`
	Mode     string            `json:"mode,omitempty" flag:"mode" jsonschema:"enum=fast,enum=slow" jsonschema_description:"Which way."`
	Yes      bool              `json:"yes,omitempty" flag:"yes" jsonschema_description:"Whether."`
	Wait     unit.Duration     `json:"wait" flag:"wait" jsonschema_description:"How long."`
	Size     unit.Size         `json:"size,omitempty" flag:"size" jsonschema_description:"How large."`
	Rate     *unit.Rate        `json:"rate,omitempty" flag:"rate" unit:"op/s" jsonschema_description:"How fast."`
	Limit    *float64          `json:"limit,omitempty" flag:"fail-limit" jsonschema_description:"A limit."`
	List     []string          `json:"list,omitempty" flag:"list" jsonschema_description:"Some of them."`
	Numbers  []int             `json:"numbers,omitempty" flag:"numbers" jsonschema_description:"Numbers."`
	Map      map[string]string `json:"map,omitempty" flag:"map" jsonschema_description:"Pairs."`
	Named    named             `json:"named,omitempty" flag:"named" jsonschema_description:"Of a type that reads itself."`
	File     string            `json:"file,omitempty" flag:"file" from:"file" jsonschema_description:"What a file holds."`
	Body     []byte            `json:"body,omitempty" flag:"body" from:"@file" jsonschema_description:"Bytes."`
	FileOnly string            `json:"file_only,omitempty" jsonschema_description:"No flag."`
	hidden   string            //nolint:unused // no field of a file has a flag
}

type flagInner struct {
	Inner string `json:"inner,omitempty" flag:"inner" jsonschema_description:"Of an embedded struct."`
}

// named reads itself, as [pflag.Value] does.
type named map[string]string

func (n *named) Set(text string) error {
	if text != "a" {
		return errors.New("only a")
	}
	*n = named{text: "set"}
	return nil
}

func (*named) Type() string { return "'A: B'" }

func newFlagParams() *flagParams {
	return &flagParams{Text: "as it was", Count: 3, Wait: unit.Duration(2 * time.Second)}
}

func parseParams(t *testing.T, args ...string) (map[string]json.RawMessage, error) {
	t.Helper()
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	p := addParams(f, newFlagParams())
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return p.given()
}

// TestParamFlags: the parameters that are given, and no others, are JSON that a
// study's struct takes.
func TestParamFlags(t *testing.T) {
	limit := 2.5
	file := writeFile(t, "\x00\xff\r")
	rate := func(v float64) *unit.Rate { return &unit.Rate{Value: v, Base: unit.Operations} }
	for _, c := range []struct {
		args string // separated by spaces
		want string // JSON of what is given
		into flagParams
	}{
		{"", `{}`, flagParams{}},
		{"--text x", `{"text":"x"}`, flagParams{Text: "x"}},
		{"-t y --inner z", `{"inner":"z","text":"y"}`, flagParams{Text: "y", flagInner: flagInner{"z"}}},
		{"--text=", `{"text":""}`, flagParams{}}, // as given as anything else
		{"--count 0 --large 9007199254740993", `{"count":0,"large":9007199254740993}`, flagParams{Large: 9007199254740993}},
		{"--share 0.1 --yes", `{"share":0.1,"yes":true}`, flagParams{Share: .1, Yes: true}},
		{"--yes=false", `{"yes":false}`, flagParams{}},
		{"--wait 1h30m --size 64KiB", `{"size":"64KiB","wait":"1h30m"}`, flagParams{Wait: unit.Duration(90 * time.Minute), Size: 64 * unit.KiB}},
		{"--rate 2000", `{"rate":"2kop/s"}`, flagParams{Rate: rate(2000)}},
		{"--rate 2.5kop/s", `{"rate":"2.5kop/s"}`, flagParams{Rate: rate(2500)}},
		{"--fail-limit -2.5 --fail-limit 2.5", `{"limit":2.5}`, flagParams{Limit: &limit}},
		{"--list a --list b,c", `{"list":["a","b,c"]}`, flagParams{List: []string{"a", "b,c"}}},
		{"--numbers 2 --numbers 4", `{"numbers":[2,4]}`, flagParams{Numbers: []int{2, 4}}},
		{"--named a --body x@y", `{"body":"eEB5","named":{"a":"set"}}`, flagParams{Named: named{"a": "set"}, Body: []byte("x@y")}},
		{"--file " + file + " --body @" + file, `{"body":"AP8N","file":"\u0000\ufffd\r"}`, flagParams{File: "\x00\ufffd\r", Body: []byte("\x00\xff\r")}},
		{"--map a=1 --map b=x=y,z", `{"map":{"a":"1","b":"x=y,z"}}`, flagParams{Map: map[string]string{"a": "1", "b": "x=y,z"}}},
	} {
		given, err := parseParams(t, strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		got, err := json.Marshal(given)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: given %s, %v; want %s", c.args, got, err, c.want)
		}
		var into flagParams
		if err := json.Unmarshal(got, &into); err != nil {
			t.Errorf("%s: the struct does not take %s: %v", c.args, got, err)
		}
		if diff := cmp.Diff(c.into, into, cmp.AllowUnexported(flagParams{})); diff != "" {
			t.Errorf("%s: parameters differ (-want +got):\n%s", c.args, diff)
		}
	}
}

func writeFile(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestParamFlagFiles: a file that becomes a parameter is bounded, and is not
// empty where it is all that there is.
func TestParamFlagFiles(t *testing.T) {
	largest, empty := strings.Repeat("x", mostInput), writeFile(t, "")
	for args, want := range map[string]string{
		"--body @" + writeFile(t, largest):     "",
		"--body @" + writeFile(t, largest+"x"): "has more than 256KiB, the most that can travel with a run",
		"--file /dev/zero":                     "has more than 256KiB",
		"--file " + empty:                      "is empty",
		"--body @" + empty:                     "",
	} {
		if _, err := parseParams(t, strings.Fields(args)...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestParamFlagPlace: what is wrong within a file is told by the name of that file.
func TestParamFlagPlace(t *testing.T) {
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	p := addParams(f, newFlagParams())
	file := writeFile(t, "x")
	if err := f.Parse([]string{"--file", file, "--text", "y"}); err != nil {
		t.Fatal(err)
	}
	err := p.place(model.InputErrors{{File: "file", Line: 2, Col: 7, Problem: "bad"}, {File: "text", Line: 3, Col: 1, Problem: "bad"}})
	if want := file + ":2:7: bad\ntext:3:1: bad"; err.Error() != want || !errors.Is(err, model.ErrUsage) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := p.place(nil); err != nil {
		t.Error(err)
	}
}

// TestParamFlagErrors: what is wrong with a value is said by its flag, with what
// is allowed.
func TestParamFlagErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--count x":        "must be a whole number",
		"--count 1.5":      "must be a whole number",
		"--share x":        "must be a number",
		"--share NaN":      "must be a number",
		"--fail-limit Inf": "must be a number",
		"--yes=maybe":      "must be true or false",
		"--rate fast":      "must be a positive number, alone or with a unit: 2000 or 2kop/s",
		"--rate -1":        "must be a positive number",
		"--named b":        "only a",
		"--file no":        "no such file",
		"--body @no":       "no such file",
		"--wait 5":         `it has no unit`,
		"--size x":         "not a size",
		"--numbers 2,3":    "must be a whole number",
		"--map x":          "must be NAME=VALUE",
		"--file-only x":    "unknown flag",
	} {
		given, err := parseParams(t, strings.Fields(args)...)
		flag, _, _ := strings.Cut(strings.Fields(args)[0], "=")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v, %v; want %q, with the flag", args, given, err, want)
		}
	}
}

// TestParamFlagHelp: help has the words of the file's reference, the type, and
// the default where there is one.
func TestParamFlagHelp(t *testing.T) {
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addParams(f, newFlagParams())
	var got []string
	for line := range strings.Lines(f.FlagUsages()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"--body TEXT|@FILE bytes",
		"--count int how many (default 3)",
		"--fail-limit float a limit",
		"--file FILE what a file holds",
		"--inner string of an embedded struct",
		"--large int large",
		"--list string some of them",
		"--map NAME=VALUE pairs",
		"--mode fast|slow which way",
		"--named 'A: B' of a type that reads itself",
		"--numbers string numbers",
		"--rate rate how fast",
		"--share float a share (default 0.5)",
		"--size size how large",
		"-t, --text string some text (default as it was)",
		"--wait duration how long (default 2s)",
		"--yes whether",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("help differs (-want +got):\n%s", diff)
	}
	f = pflag.NewFlagSet("test", pflag.ContinueOnError)
	addSomeParams(f, newFlagParams(), func(name string) bool { return strings.HasPrefix(name, "fail-") })
	if f.Lookup("fail-limit") == nil || f.Lookup("text") != nil {
		t.Errorf("flags of which some are wanted:\n%s", f.FlagUsages())
	}
}

// TestGateFlags: thresholds are of the studies that say what is measured, each
// is possible by itself, and fits what the file evaluates.
func TestGateFlags(t *testing.T) {
	type evaluates = []model.Phase
	for _, c := range []struct {
		args        string
		evaluations evaluates
		want        string // JSON of what is given
		flag        string
		err         string
	}{
		{"", evaluates{model.Serial}, `{}`, "", ""},
		{"--fail-above 10", evaluates{model.Serial, model.Parallel},
			`{"cdi":{"fail_above":10},"pressure":{"fail_above":10}}`, "--fail-above", ""},
		{"--fail-below 2000", evaluates{model.Search}, `{"capacity":{"fail_below":"2kop/s"}}`, "--fail-below", ""},
		{"--fail-below 2kop/s --fail-above 0", evaluates{model.Parallel, model.Search},
			`{"capacity":{"fail_below":"2kop/s"},"cdi":{"fail_above":0},"pressure":{"fail_above":0}}`,
			"--fail-below", ""},
		{"--fail-below 10", evaluates{model.Serial, model.Parallel}, "", "", "--fail-below needs evaluations: [search], and two.yaml has [serial, parallel]; leave it out"},
		{"--fail-above 10", evaluates{model.Search}, "", "", "--fail-above needs evaluations: [serial, parallel], and two.yaml has [search]"},
		{"--fail-below 10MB/s", evaluates{model.Search}, "", "", "--fail-below: 10MB/s is not a rate of requests"},
		{"--fail-below 0", evaluates{model.Search}, "", "", "--fail-below: 0op/s is not a rate of requests"},
	} {
		var g gates
		cmd := newRoot(Env{}) // any command
		g.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		err := g.fit(&experiment.Experiment{SourceName: "two.yaml", Evaluations: c.evaluations})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !errors.Is(err, model.ErrUsage) {
				t.Errorf("%s: %v, want %q", c.args, err, c.err)
			}
			continue
		}
		params, err2 := g.given()
		got, err3 := json.Marshal(params)
		if errors.Join(err, err2, err3) != nil || string(got) != c.want || g.flag() != c.flag {
			t.Errorf("%s: given %s, flag %q, %v; want %s, %q", c.args, got, g.flag(), errors.Join(err, err2, err3), c.want, c.flag)
		}
	}
}

// TestStudiesHaveCommands: each study has one, with a flag for each of its
// parameters that has one.
func TestStudiesHaveCommands(t *testing.T) {
	root := newRoot(Env{})
	for _, kind := range Studies() {
		name := kind.CommandName()
		cmd, _, err := root.Find(strings.Fields(name))
		if err != nil || cmd.CommandPath() != root.Name()+" "+name {
			t.Errorf("study %s has no command: %v", kind.Name, err)
			continue
		}
		for _, f := range addParams(pflag.NewFlagSet("", pflag.ContinueOnError), kind.New()).flags {
			if cmd.Flag(f.name) == nil {
				t.Errorf("scalebench %s has no --%s", name, f.name)
			}
		}
	}
}
