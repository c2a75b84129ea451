package chart

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// notFinite finds coordinates that no drawing may have.
var notFinite = regexp.MustCompile(`="[^"]*(NaN|Inf)[^"]*"`)

// wellFormed fails if markup is not XML, or has a coordinate that is not a
// finite number.
func wellFormed(t *testing.T, markup string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(markup))
	for {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("%v in %s", err, markup)
		default:
			if e, ok := token.(xml.StartElement); ok {
				for _, a := range e.Attr {
					if a.Name.Local != "class" && a.Name.Local != "aria-label" && notFinite.MatchString(`="`+a.Value+`"`) {
						t.Fatalf("%s=%q in %s", a.Name.Local, a.Value, markup)
					}
				}
			}
		}
	}
}

// Whatever is declared, drawing neither fails nor hangs, and what comes out is
// well formed and without control characters.
func FuzzDraw(f *testing.F) {
	for _, file := range gallery() {
		for _, c := range file.Panels {
			encoded, err := json.Marshal(c)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(encoded)
		}
	}
	f.Add([]byte(`{"x":{"kind":"log","tight":true},"layers":[{"mark":"line","x":[1e-320,1e308],"y":["+Inf",null]}]}`))
	f.Add([]byte(`{"y":{"kind":"rows"},"x":{"whole":true},"layers":[{"mark":"bar","x":[1e30],"y":[1e30],"text":["\u001b[31m\u202e</svg>"]}]}`))
	for _, odd := range []string{
		`{"x":{"kind":"time","zone":"Europe/Berlin"},"layers":[{"mark":"line","x":[-62135596800,253402300799,1e18],"y":[1,2,3]},{"mark":"rule","x":[0],"text":["\u001b"]}]}`,
		`{"layers":[{"mark":"raster","grid":{"columns":1000000000,"rows":-1,"x":[0,1],"y":[0]},"x":[-1,0,1e300],"x2":[1e300],"y":[0],"value":[null,"+Inf",3]}]}`,
		`{"layers":[{"mark":"raster","grid":{"columns":3,"rows":2,"x":[0,1],"y":[0,1]},"x":[0,1.5],"x2":[2,9],"y":[0,1.2],"value":[1,8]}]}`,
		`{"y":{"kind":"rows","rows":[{"name":"\u202e"}]},"layers":[` +
			`{"mark":"box","y":[0],"boxes":[{"five":[1,2,null,3,4],"n":9},{"five":[1,2,9,3,4],"n":9}]}]}`,
		`{"x":{"kind":"rows","rows":[{"name":"0"},{"name":"1"}]},` +
			`"y":{"kind":"rows","down":true,"rows":[{"name":"Mon"}]},` +
			`"layers":[{"mark":"cell","shading":"even","x":[0,1],"y":[0],"value":[-1e308,"+Inf"]}]}`,
		`{"x":{"tight":true},"layers":[{"mark":"bar","x":[0,1e300],"x2":[1,-1e300],"y":[3,"-Inf"]},{"mark":"rule","x":[0.5]}]}`,
	} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var c Chart
		if json.Unmarshal(encoded, &c) != nil || len(encoded) > 1<<14 {
			return
		}
		for _, d := range Draw(c, c) {
			for _, markup := range append([]string{d.Y, d.Area, d.Scale}, d.Rows...) {
				wellFormed(t, markup)
			}
		}
		wellFormed(t, SVG(File{Title: c.Title, Panels: []Chart{c}, Titles: []string{c.X.Label}, Words: c.Y.Label}))
		for _, ascii := range []bool{false, true} {
			for _, line := range Text(c, TextOptions{Width: 40, ASCII: ascii}) {
				if strings.ContainsAny(line, "\x1b\n\r\u202e") {
					t.Fatalf("%q can act on a terminal", line)
				}
			}
		}
	})
}
