package expression

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// host is what templates of services have.
type host struct {
	Name    string
	Index   int
	Address string
	Port    int
}

var data = map[string]any{"Self": host{"db", 0, "10.0.0.1", 3306}, "Dir": "/srv",
	"Hosts": []host{{"a", 0, "10.0.0.1", 1}, {"b", 1, "10.0.0.2", 2}}}

// TestTemplate: ordinary templates are filled in as text/template does it.
func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"port={{.Self.Port}}":                  "port=3306",
		"{{range .Hosts}}{{.Address}} {{end}}": "10.0.0.1 10.0.0.2 ",
		"{{range $i, $h := .Hosts}}{{if $i}},{{end}}{{$h.Name}}:{{$h.Port}}{{else}}none{{end}}": "a:1,b:2",
		`{{printf "%s-%03d" .Self.Name .Self.Port}}`:                                            "db-3306",
		`{{define "x"}}[{{.}}]{{end}}{{template "x" .Dir}}`:                                     "[/srv]",
		`{{with .Self}}{{.Name | printf "%-5s|"}}{{end}}`:                                       "db   |",
		`{{range 3}}x{{end}}{{html "<"}}{{print 1 2}}{{len .Hosts}}`:                            "xxx&lt;1 22",
		`{{range .Hosts}}{{if eq .Index 1}}{{break}}{{end}}{{.Name}}{{end}}`:                    "a",
		`{{define "n"}}{{range 9}}{{if .}}{{break}}{{else}}{{continue}}{{end}}{{end}}n{{end}}` +
			`{{range 600}}{{template "n"}}{{end}}`: strings.Repeat("n", 600),
		`{{define "down"}}{{if .}}{{len .}}{{template "down" (slice . 1)}}{{end}}{{end}}{{template "down" "abc"}}`: "321",
	} {
		var b strings.Builder
		tmpl, err := NewTemplate("f", text)
		if err == nil {
			err = tmpl.Execute(&b, data)
		}
		if err != nil || b.String() != want {
			t.Errorf("%s: %q, %v, want %q", text, b.String(), err, want)
		}
	}
}

// bombs are templates that would take a machine's memory or time.
var bombs = []string{
	`{{$x := "aaaa"}}{{range 40}}{{$x = printf "%s%s" $x $x}}{{end}}`,
	`{{range 9000000000000000000}}{{end}}`,
	`{{range 1000000}}{{range 1000000}}{{end}}{{end}}`,
	`{{range 100000000}}{{continue}}{{end}}`,
	`{{define "a"}}{{template "a" .}}{{template "a" .}}{{end}}{{template "a" .}}`,
	`{{define "a"}}{{template "b" .}}{{end}}{{define "b"}}{{template "a" .}}{{end}}{{template "a" .}}`,
	`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`,
	`{{define "a"}}` + strings.Repeat("{{with 1}}", 90) + `{{template "a"}}` + strings.Repeat("{{end}}", 90) +
		`{{end}}{{template "a"}}`,
	`{{block "a" .}}{{range 2}}{{if eq . 0}}{{continue}}{{end}}{{template "a"}}{{end}}{{end}}`,
	strings.Repeat("{{if true}}", 12000) + strings.Repeat("{{end}}", 12000),
	`{{scalebench_depth -100000}}`,
	`{{range 300000}}{{printf "%1000000d" 1}}{{end}}`,
	`{{printf "%999999d%999999d" 1 2}}`,
	`{{printf "%*d" 999999999 1}}`,
	`{{printf "%[1]s` + strings.Repeat("%[1]s", 5000) + `" (printf "%256d" 1)}}`,
	`{{$x := "<<<<<<<<"}}{{range 30}}{{$x = html $x $x}}{{end}}`,
	`{{$x := "%%%%%%%%"}}{{range 30}}{{$x = urlquery $x $x}}{{end}}`,
	`{{$x := "a"}}{{range 30}}{{$x = print $x $x}}{{end}}`,
	`{{$x := "a"}}{{range 40}}{{$x = printf "" $x $x}}{{end}}`,
	`{{$x := "a"}}{{range 40}}{{$x = printf "%d%d" $x $x}}{{end}}`,
	`{{$x := "a"}}{{range 30}}{{$x = js $x $x}}{{end}}`,
	`{{range 100000}}` + strings.Repeat("a", 1000) + `{{end}}`,
	strings.Repeat("{{if true}}", 30000),
	strings.Repeat("x", maxTemplate+1),
}

// TestTemplateBounded: each of them ends soon, with an error and without much memory.
func TestTemplateBounded(t *testing.T) {
	for _, text := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begun := time.Now()
		tmpl, err := NewTemplate("f", text)
		if err == nil {
			err = tmpl.Execute(io.Discard, data)
		}
		runtime.ReadMemStats(&after)
		if took := time.Since(begun); err == nil || took > 2*maxFilling {
			t.Errorf("%.80s: %v after %v, want an error soon", text, err, took)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 300<<20 {
			t.Errorf("%.80s: %d MB were allocated", text, used>>20)
		}
		if stack := after.StackSys; stack > 48<<20 { // which never shrinks
			t.Errorf("%.80s: stacks of %d MB", text, stack>>20)
		}
	}
}

func TestRegexp(t *testing.T) {
	for text, ok := range map[string]bool{
		`^(\S+) \S+ "(?P<path>[^"]*)" (?P<micros>\d+)$`: true,
		`(x{10}){100}`:                    true,
		`(`:                               false,
		`(\pL{10}){100}`:                  true,
		`((abcdefghijk|lmnopq){10}){100}`: false,
		strings.Repeat(`(x{1000})`, 20):   false,
		strings.Repeat("a", MaxLength+1):  false,
	} {
		re, err := Regexp(text)
		if (err == nil) != ok || ok && re.String() != text {
			t.Errorf("Regexp(%.60s) = %v, %v, want success %t", text, re, err, ok)
		}
	}
	if err := CheckLength(strings.Repeat("[", MaxLength+1)); !errors.Is(err, model.ErrUsage) {
		t.Errorf("CheckLength = %v, want ErrUsage", err)
	}
}

// FuzzTemplate looks for a template that takes more than its budget.
func FuzzTemplate(f *testing.F) {
	for _, text := range bombs {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Add("{{range .Hosts}}{{.Address}} {{end}}")
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := NewTemplate("f", text)
		if err != nil {
			return
		}
		var out strings.Builder
		begun := time.Now()
		_ = tmpl.Execute(&out, data) // most fail
		if took := time.Since(begun); out.Len() > maxFilled || took > 2*maxFilling {
			t.Errorf("%d bytes after %v", out.Len(), took)
		}
	})
}

// FuzzRegexp looks for an expression whose program is larger than it may be.
func FuzzRegexp(f *testing.F) {
	for _, text := range []string{`(a|b){5,7}`, `((x{9}){9}){9}`, `[^\pL]{1000}`, `(?i)straße{3}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		re, err := Regexp(text)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%q: %d MB were allocated (%v)", text, used>>20, err)
		}
		if err == nil {
			re.MatchString(text)
		}
	})
}
