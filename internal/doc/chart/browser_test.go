package chart

import (
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/browsertest"
)

// layoutOfTest lays figures out about as a page does.
const layoutOfTest = `
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, "Noto Sans", "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
article { max-width: 1056px; margin: 16px auto; padding: 22px 26px; background: var(--card); }
.unit { color: var(--soft); font-size: 12px; line-height: 18px; width: 58px; padding-right: 7px; text-align: right; white-space: nowrap; direction: rtl; }
.plot { display: flex; } .canvas { flex: 1; min-width: 0; }
.xlabel { text-align: center; color: var(--soft); font-size: 12px; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 4px 0 0; padding: 0; font-size: 0.84rem; color: var(--soft); }
.panels { display: grid; gap: 6px 30px; }
.row { display: grid; grid-template-columns: minmax(110px, 190px) minmax(0, 1fr) 76px 112px 104px; column-gap: 16px; align-items: center; }
.row .canvas { grid-column: 2; }
.scroll { overflow-x: auto; }
@media screen and (max-width: 760px) {
  article { padding: 16px 14px; }
  .panels { grid-template-columns: minmax(0, 1fr) !important; } .panels > * { grid-column: auto !important; }
  .row { grid-template-columns: minmax(0, 1fr) auto auto; } .row .canvas { grid-column: 1 / -1; grid-row: 2; margin: 0 12px; }
}`

// page is the gallery as a page has it.
func page(figures map[string]File) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><style>` +
		Palette() + Style() + layoutOfTest + `</style></head><body>` + Hatch)
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		f := figures[name]
		fmt.Fprintf(&b, `<article id=%q><b>%s</b><div class="panels" style="grid-template-columns: repeat(%d, minmax(0, 1fr))">`, name, html.EscapeString(f.Title), max(f.Columns, 1))
		for i, d := range Draw(f.Panels...) {
			fmt.Fprintf(&b, `<div style="grid-column: span %d">`, max(f.Panels[i].Span, 1))
			for k, r := range d.Rows {
				row := f.Panels[i].Y.Rows[k]
				fmt.Fprintf(&b, `<div class="row"><span>%s %s</span><div class="canvas">%s</div><b>%s</b><span>%s</span><span class="ink r-%s">%s</span></div>`, row.Name, row.Sub, r, row.Value, row.Note, row.Role, row.Tag)
			}
			switch {
			case d.Rows != nil:
				fmt.Fprintf(&b, `<div class="row"><div class="canvas">%s<div class="xlabel">%s</div></div></div>`, d.Area, d.XLabel)
			case d.Tall != nil:
				fmt.Fprintf(&b, `<div class="wide"><div class="plot">%s<div class="canvas scroll"><div class="room %s">%s</div></div></div><div class="xlabel">%s</div></div>`, d.Y, d.Room, d.Area, d.XLabel)
				fmt.Fprintf(&b, `<div class="tall"><div class="unit">%s</div><div class="plot">%s<div class="canvas">%s</div></div></div>%s`, d.Tall.Unit, d.Tall.Y, d.Tall.Area, d.Scale)
			default:
				fmt.Fprintf(&b, `<div class="unit">%s</div><div class="plot">%s<div class="canvas">%s</div></div><div class="xlabel">%s</div>`, d.Unit, d.Y, d.Area, d.XLabel)
			}
			b.WriteString(`</div>`)
		}
		b.WriteString(`</div><ul class="legend">`)
		for _, k := range Legend(f.Panels...) {
			b.WriteString(`<li>` + k.Swatch + html.EscapeString(k.Name) + `</li>`)
		}
		b.WriteString(`</ul></article>`)
	}
	return b.String() + `</body></html>`
}

// overflow lists what sticks out of the page at either side, apart from what
// lies in a box that scrolls or is cut off.
const overflow = `(() => {
  const width = document.documentElement.clientWidth, out = [];
  if (document.documentElement.scrollWidth > width) out.push('page ' + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll('body *, svg text')) {
    if (e.closest('.scroll, .defs, .plane')) continue;
    const r = e.getBoundingClientRect();
    if (r.right > width + 0.5 || r.left < -0.5) out.push((e.closest('[id]')?.id ?? '') + ' ' + e.tagName + ' ' + e.textContent.slice(0, 40));
  }
  return out;
})()`

// A real browser lays every figure out without overlap, wide and narrow, light
// and dark, on a page and as a file, and finds nothing to complain about.
func TestBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	paths := map[string]string{"page": filepath.Join(dir, "page.html")}
	write(t, paths["page"], page(gallery()))
	for name, f := range gallery() {
		paths[name] = filepath.Join(dir, name+".svg")
		write(t, paths[name], SVG(f))
	}
	for name, path := range paths {
		widths := []int64{390, 1280}
		if name != "page" {
			widths = []int64{1100} // a file has a size of its own
		}
		for _, width := range widths {
			b.Open(t, path, width, map[int64]string{390: "dark", 1100: "dark", 1280: "light"}[width])
			for what, expression := range map[string]string{"labels collide": browsertest.LabelsCollide, "sticks out": overflow} {
				if got := browsertest.Ask[[]string](t, b, expression); len(got) > 0 {
					t.Errorf("%s at %d px: %s: %q", name, width, what, got[:min(5, len(got))])
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.Open(t, paths["plan"], 1280, scheme)
		fill := browsertest.Ask[string](t, b, `getComputedStyle(document.querySelector('.paper')).fill`)
		if seen[fill] {
			t.Errorf("paper of a file is %s in both schemes", fill)
		}
		seen[fill] = true
	}
	b.CheckComplaints(t)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
