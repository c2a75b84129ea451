package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/test/browsertest"
)

// faults are what must not be on a page: each expression lists what is.
var faults = map[string]string{
	"labels collide": browsertest.LabelsCollide,
	// What sticks out of the page, apart from what lies in a box that scrolls.
	"sticks out": `(() => {
  const width = document.documentElement.clientWidth, out = [];
  if (document.documentElement.scrollWidth > width) out.push('page ' + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.scroll, pre, .defs')) continue;
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > width + 0.5 || r.left < -0.5)) out.push(e.tagName + '.' + (e.className.baseVal ?? e.className));
  }
  return out;
})()`,
	// Blocks narrower than their text, unless they scroll.
	"is clipped": `[...document.querySelectorAll('.row > *, dl div, .caption, h1, h2, h3, .alerts li')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).display !== 'inline')
  .map(e => e.className + ': ' + e.textContent.trim().slice(0, 60))`,
	// An axis below rows that is not where the rows are says wrong numbers.
	"axis beside its rows": `[...document.querySelectorAll('.rows')].flatMap(rows => {
  const at = [...rows.querySelectorAll('.canvas > svg')].map(e => e.getBoundingClientRect()).map(r => Math.round(r.left) + ' to ' + Math.round(r.right));
  return new Set(at).size > 1 ? [at.join(', ')] : [];
})`,
	// Texts of HTML that contrast with their ground by less than 4.5 to 1.
	"is hard to read": `(() => {
  const numbers = c => c.match(/[0-9.]+/g).map(Number);
  const light = c => { const [r, g, b] = numbers(c).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((numbers(c)[3] ?? 1) > 0.9) return c; } return 'rgb(255, 255, 255)'; };
  const out = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(getComputedStyle(e).color), b = light(ground(e));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) out.push(contrast.toFixed(1) + ' ' + e.tagName + '.' + e.className + ': ' + e.textContent.trim().slice(0, 40));
  }
  return out;
})()`,
}

func writePage(t *testing.T, d *doc.Document) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(pageOf(t, d)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A real browser must find nothing to complain about, fetch nothing, and lay
// everything out without overlap, wide and narrow, light and dark.
func TestBrowser(t *testing.T) {
	b := browsertest.New(t)
	for name, d := range map[string]*doc.Document{"gallery": stored(t), "labelled rows": labelledRows(), "poisoned": poisoned(), "empty": {}} {
		path := writePage(t, d)
		for _, width := range []int64{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.Open(t, path, width, scheme)
				for what, expression := range faults {
					if name == "poisoned" && what != "sticks out" {
						continue // names of nodes that long are laid over each other
					}
					if got := browsertest.Ask[[]string](t, b, expression); len(got) > 0 {
						t.Errorf("%s at %d px, %s: %s: %q", name, width, scheme, what, got[:min(5, len(got))])
					}
				}
			}
		}
	}
	b.CheckComplaints(t)
	if len(b.Requests()) == 0 {
		t.Error("no request was seen, not even for the pages: the check is blind")
	}
	for _, url := range b.Requests() {
		if !strings.HasPrefix(url, "file://") || !strings.HasSuffix(url, "/page.html") {
			t.Errorf("the page asked for %s", url)
		}
	}
}

// On the screen of a laptop no table needs to be scrolled sideways; on a
// telephone some do, and a keyboard reaches them.
func TestBrowserTablesFit(t *testing.T) {
	b := browsertest.New(t)
	path := writePage(t, stored(t))
	const sideways = `[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 40))`
	b.Open(t, path, 1280, "light")
	if got := browsertest.Ask[[]string](t, b, sideways); len(got) > 0 {
		t.Errorf("tables are too wide: %q", got)
	}
	b.Open(t, path, 390, "light")
	if got := browsertest.Ask[[]string](t, b, sideways); len(got) == 0 {
		t.Error("no table is too wide for a telephone: the check is blind")
	}
	if got := browsertest.Ask[int](t, b, `document.querySelectorAll('.scroll:not([tabindex="0"]), pre:not([tabindex="0"])').length`); got != 0 {
		t.Errorf("%d boxes that scroll cannot be reached by keyboard", got)
	}
}

// The two conveniences work, and follow the theme of the system.
func TestBrowserConveniences(t *testing.T) {
	b := browsertest.New(t)
	path := writePage(t, stored(t))
	background := `getComputedStyle(document.body).backgroundColor`
	b.Open(t, path, 1280, "light")
	light := browsertest.Ask[string](t, b, background)
	b.Open(t, path, 1280, "dark")
	dark := browsertest.Ask[string](t, b, background)
	if light == dark {
		t.Errorf("background is %s in both schemes", light)
	}
	browsertest.Ask[bool](t, b, `document.querySelector('button.theme').click(), true`)
	if got := browsertest.Ask[string](t, b, background); got != light {
		t.Errorf("background after the toggle = %s, want %s", got, light)
	}
	if got := browsertest.Ask[int](t, b, `document.querySelectorAll('button[hidden]').length`); got != 0 {
		t.Errorf("%d buttons stay hidden", got)
	}
	if got, want := copied(t, b), tsv(stored(t).Table()); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// copied clicks the button below the first table and returns what would be in
// the clipboard, once the button says that it is.
func copied(t *testing.T, b *browsertest.Browser) string {
	t.Helper()
	browsertest.Ask[bool](t, b, `(() => {
	  const button = document.querySelector('#numbers button.copy');
	  document.addEventListener('copy', () => { window.copied = document.activeElement.value; });
	  if (navigator.clipboard) navigator.clipboard.writeText = s => { window.copied = s; return Promise.resolve(); };
	  window.done = new Promise(resolve => new MutationObserver(() => resolve(button.textContent))
	    .observe(button, {childList: true, characterData: true, subtree: true}));
	  return true;
	})()`)
	if err := chromedp.Do(b.Context, chromedp.Click("#numbers button.copy")); err != nil {
		t.Fatalf("clicking: %v", err)
	}
	label, err := chromedp.Run(b.Context, chromedp.Evaluate[string]("window.done", chromedp.EvalAwaitPromise))
	if err != nil || label != "Copied" {
		t.Errorf("the button says %q, %v, want Copied", label, err)
	}
	return browsertest.Ask[string](t, b, "window.copied")
}

// On paper: light whatever the screen, without buttons, with what is folded.
func TestBrowserPrints(t *testing.T) {
	b := browsertest.New(t)
	b.Open(t, writePage(t, stored(t)), 1280, "dark")
	browsertest.Ask[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = false), true`)
	yes := true
	pdf, err := chromedp.Call(b.Context, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	if err != nil {
		t.Fatalf("printing: %v", err)
	}
	if pages := bytes.Count(pdf.Data, []byte("/Type /Page\n")); pages < 2 || pages > 5 {
		t.Errorf("%d pages, want 2 to 5", pages)
	}
	_, err = chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if err != nil {
		t.Fatal(err)
	}
	if got := browsertest.Ask[string](t, b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s, want white", got)
	}
	if got := browsertest.Ask[string](t, b, `getComputedStyle(document.querySelector('button.copy')).display`); got != "none" {
		t.Errorf("buttons are printed: display %s", got)
	}
	if got := browsertest.Ask[bool](t, b, `document.querySelector('#pairs p').checkVisibility({contentVisibilityAuto: true})`); !got {
		t.Error("what is folded is not printed")
	}
}
