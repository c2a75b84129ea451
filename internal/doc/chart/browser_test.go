package chart

import (
	"context"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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

// collisions lists texts within one drawing that cover each other.
const collisions = `(() => {
  const out = [];
  for (const svg of document.querySelectorAll('svg')) {
    const texts = [...svg.querySelectorAll('text')].map(e => ({s: e.textContent, r: e.getBoundingClientRect()}));
    for (let i = 0; i < texts.length; i++)
      for (let j = i + 1; j < texts.length; j++) {
        const a = texts[i].r, b = texts[j].r;
        if (a.width && a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
          out.push((svg.closest('[id]')?.id ?? '') + ': ' + texts[i].s + ' / ' + texts[j].s);
      }
  }
  return out;
})()`

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
	if testing.Short() {
		t.Skip("the browser takes its time; make test runs it")
	}
	dir := t.TempDir()
	paths := map[string]string{"page": filepath.Join(dir, "page.html")}
	write(t, paths["page"], page(gallery()))
	for name, f := range gallery() {
		paths[name] = filepath.Join(dir, name+".svg")
		write(t, paths[name], SVG(f))
	}
	b := browse(t)
	for name, path := range paths {
		widths := []int64{390, 1280}
		if name != "page" {
			widths = []int64{960} // a file has a size of its own
		}
		for _, width := range widths {
			b.show(t, path, width, map[int64]string{390: "dark", 960: "dark", 1280: "light"}[width])
			for what, expression := range map[string]string{"labels collide": collisions, "sticks out": overflow} {
				got, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](expression))
				if err != nil || len(got) > 0 {
					t.Errorf("%s at %d px: %s: %q %v", name, width, what, got[:min(5, len(got))], err)
				}
			}
		}
	}
	background := chromedp.Evaluate[string](`getComputedStyle(document.querySelector('.paper')).fill`)
	seen := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.show(t, paths["plan"], 1280, scheme)
		fill, err := chromedp.Run(b.ctx, background)
		if err != nil || seen[fill] {
			t.Errorf("paper of a file is %s in both schemes, %v", fill, err)
		}
		seen[fill] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the browser complains: %s", c)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// browser is one tab that remembers what went wrong in it.
type browser struct {
	ctx        context.Context
	mu         sync.Mutex
	complaints []string
}

// browse starts a browser; without one the test is skipped, except in CI.
func browse(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" && os.Getenv("CI") != "" {
		t.Fatal("no chromium on the PATH; scripts/deps.sh installs it")
	}
	if path == "" {
		t.Skip("no chromium on the PATH; scripts/deps.sh installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox)
	ctx, cancelAll := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	ctx, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
		cancelTab()
		cancelAllocator()
		cancelAll()
	})
	b := &browser{ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("starting the browser: %v", err)
	}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		case *cdplog.EventEntryAdded:
			b.complaints = append(b.complaints, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatalf("listening to the browser: %v", err)
	}
	return b
}

// show opens a file at this width and in this colour scheme.
func (b *browser) show(t *testing.T, path string, width int64, scheme string) {
	t.Helper()
	emulate := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900), emulate, chromedp.Navigate("file://"+path)); err != nil {
		t.Fatalf("opening %s: %v", path, err)
	}
}
