package chart

import (
	_ "embed"
	"regexp"
	"strings"
)

// Colours by name, for both themes. Blue and orange stay apart for every kind of
// colour vision, and shapes say the same: dots and diamonds, hatching.
const (
	light = `--ground: #f7f7f5; --card: #ffffff; --ink: #1a1f26; --soft: #56606d; --line: #dfe3e8; --grid: #e9ecf0;
--serial: #0a5fa8; --parallel: #c2540a; --parallel-ink: #a34305; --none: #5b7083;
--warn-ground: #fff6e5; --warn-line: #e2a43b; --warn-ink: #6b4500; --link: #0a5fa8;
--n2: #00796b; --n3: #8e3d8b; --n4: #7a6a00; --n5: #3d4654; --n6: #b0305c; --n7: #5a7d1f; --steal: #b3261e; --high-ground: #fbe3e0; --high-ink: #8c1d18;`
	dark = `--ground: #12161b; --card: #191e25; --ink: #e8ebef; --soft: #a2acb8; --line: #303843; --grid: #262d36;
--serial: #6fb4f2; --parallel: #f39a4d; --parallel-ink: #f6ab6a; --none: #93a8bb;
--warn-ground: #2b2313; --warn-line: #b9822a; --warn-ink: #f3d9a4; --link: #86c1f6;
--n2: #4fc3b0; --n3: #d99ad6; --n4: #d8c64a; --n5: #c2cad4; --n6: #f08bb0; --n7: #a9cf6b; --steal: #ff8a80; --high-ground: #41201d; --high-ink: #ffb4ab;`
)

//go:embed chart.css
var marks string

//go:embed page.css
var layout string

// Style is the style sheet of drawings on a page. It takes its colours from
// custom properties (--ink, --card, --serial …), which [Palette] defines.
func Style() string { return marks + layout }

// Palette is the style sheet that defines the colours of [Style] and of pages,
// for both themes: dark where the system asks for it or the root element has
// data-theme="dark".
func Palette() string {
	return ":root { color-scheme: light; " + light + " }\n" +
		"@media screen and (prefers-color-scheme: dark) { :root:not([data-theme=\"light\"]) { color-scheme: dark; " + dark + " } }\n" +
		"@media screen { :root[data-theme=\"dark\"] { color-scheme: dark; " + dark + " } }\n"
}

// Hatch is a drawing without extent that every page has once before its
// figures: it defines the pattern of what is unknown.
const Hatch = `<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0" class="defs" aria-hidden="true">` + hatch + `</svg>`

const hatch = `<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<rect class="hatch-ground" width="7" height="7"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="7"/></pattern></defs>`

// fileMarks is what a file shows beside its drawings.
const fileMarks = `svg { font-family: system-ui, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; }
.paper { fill: var(--card); }
svg text.words { fill: var(--ink); font-size: 13px; }
svg text.title { fill: var(--ink); font-size: 16px; font-weight: 600; }
svg text.soft { fill: var(--soft); font-size: 13px; }
svg text.said { font-size: 13px; }
svg text.value { fill: var(--ink); font-size: 15px; font-weight: 600; }
`

var property = regexp.MustCompile(`var\((--[a-z0-9-]+)\)`)

// fileStyle is the style sheet of a file: colours stand in it by value, for
// programs that know no custom properties, and again for a dark theme.
func fileStyle() string {
	sheet := marks + fileMarks
	resolve := func(palette string) string {
		return property.ReplaceAllStringFunc(sheet, func(v string) string {
			_, value, _ := strings.Cut(palette, property.FindStringSubmatch(v)[1]+": ")
			value, _, _ = strings.Cut(value, ";")
			return value
		})
	}
	return resolve(light) + "@media (prefers-color-scheme: dark) {\n" + resolve(dark) + "}\n"
}
