package render

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/scalebench/scalebench/internal/doc"
)

// chromium finds a browser. Without one the test is skipped, except in CI.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no chromium on the PATH; scripts/deps.sh installs it")
	}
	t.Skip("no chromium on the PATH; scripts/deps.sh installs it")
	return ""
}

// browser is one tab that remembers what went wrong in it.
type browser struct {
	ctx context.Context
	mu  sync.Mutex
	// complaints are console messages, log entries and exceptions; requests
	// the addresses that the page asked for.
	complaints, requests []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("the browser takes its time; make test runs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox)
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
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatalf("listening to the browser: %v", err)
	}
	return b
}

func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *cdpruntime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprintf("console: %+v", e.Args))
	case *cdpruntime.EventExceptionThrown:
		b.complaints = append(b.complaints, "exception: "+e.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		b.complaints = append(b.complaints, "log: "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// open shows a file at this width and in this colour scheme, with all folds
// open: what is folded is laid out only then.
func (b *browser) open(t *testing.T, path string, width int64, scheme string) {
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
	ask[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true), true`)
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("asking the page: %v", err)
	}
	return v
}

// faults are what must not be on a page: each expression lists what is.
var faults = map[string]string{
	// Texts within one drawing that cover each other.
	"labels collide": `(() => {
  const out = [];
  for (const svg of document.querySelectorAll('svg')) {
    const texts = [...svg.querySelectorAll('text')].map(e => ({s: e.textContent, r: e.getBoundingClientRect()}));
    for (let i = 0; i < texts.length; i++)
      for (let j = i + 1; j < texts.length; j++) {
        const a = texts[i].r, b = texts[j].r;
        if (a.width && a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
          out.push(texts[i].s + ' / ' + texts[j].s);
      }
  }
  return out;
})()`,
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
	// Blocks whose text is wider than they are, as far as they do not scroll.
	"is clipped": `[...document.querySelectorAll('.row > *, dl div, .caption, h1, h2, h3, .alerts li')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).display !== 'inline')
  .map(e => e.className + ': ' + e.textContent.trim().slice(0, 60))`,
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
	b := newBrowser(t)
	for name, d := range map[string]*doc.Document{"gallery": stored(t), "poisoned": poisoned(), "empty": {}} {
		path := writePage(t, d)
		for _, width := range []int64{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.open(t, path, width, scheme)
				for what, expression := range faults {
					if name == "poisoned" && what != "sticks out" {
						continue // names of nodes that long are laid over each other
					}
					if got := ask[[]string](t, b, expression); len(got) > 0 {
						t.Errorf("%s at %d px, %s: %s: %q", name, width, scheme, what, got[:min(5, len(got))])
					}
				}
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the browser complains: %s", c)
	}
	if len(b.requests) == 0 {
		t.Error("no request was seen, not even for the pages: the check is blind")
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file://") || !strings.HasSuffix(url, "/page.html") {
			t.Errorf("the page asked for %s", url)
		}
	}
}

// On the screen of a laptop no table needs to be scrolled sideways; on a
// telephone some do, and a keyboard reaches them.
func TestBrowserTablesFit(t *testing.T) {
	b := newBrowser(t)
	path := writePage(t, stored(t))
	const sideways = `[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 40))`
	b.open(t, path, 1280, "light")
	if got := ask[[]string](t, b, sideways); len(got) > 0 {
		t.Errorf("tables are too wide: %q", got)
	}
	b.open(t, path, 390, "light")
	if got := ask[[]string](t, b, sideways); len(got) == 0 {
		t.Error("no table is too wide for a telephone: the check is blind")
	}
	if got := ask[int](t, b, `document.querySelectorAll('.scroll:not([tabindex="0"]), pre:not([tabindex="0"])').length`); got != 0 {
		t.Errorf("%d boxes that scroll cannot be reached by keyboard", got)
	}
}

// The two conveniences work, and follow the theme of the system.
func TestBrowserConveniences(t *testing.T) {
	b := newBrowser(t)
	path := writePage(t, stored(t))
	background := `getComputedStyle(document.body).backgroundColor`
	b.open(t, path, 1280, "light")
	light := ask[string](t, b, background)
	b.open(t, path, 1280, "dark")
	dark := ask[string](t, b, background)
	if light == dark {
		t.Errorf("background is %s in both schemes", light)
	}
	ask[bool](t, b, `document.querySelector('button.theme').click(), true`)
	if got := ask[string](t, b, background); got != light {
		t.Errorf("background after the toggle = %s, want %s", got, light)
	}
	if got := ask[int](t, b, `document.querySelectorAll('button[hidden]').length`); got != 0 {
		t.Errorf("%d buttons stay hidden", got)
	}
	if got, want := copied(t, b), tsv(stored(t).Table()); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// copied clicks the button below the first table and returns what would be in
// the clipboard, once the button says that it is.
func copied(t *testing.T, b *browser) string {
	t.Helper()
	ask[bool](t, b, `(() => {
	  const button = document.querySelector('#numbers button.copy');
	  document.addEventListener('copy', () => { window.copied = document.activeElement.value; });
	  if (navigator.clipboard) navigator.clipboard.writeText = s => { window.copied = s; return Promise.resolve(); };
	  window.done = new Promise(resolve => new MutationObserver(() => resolve(button.textContent))
	    .observe(button, {childList: true, characterData: true, subtree: true}));
	  return true;
	})()`)
	if err := chromedp.Do(b.ctx, chromedp.Click("#numbers button.copy")); err != nil {
		t.Fatalf("clicking: %v", err)
	}
	label, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("window.done", chromedp.EvalAwaitPromise))
	if err != nil || label != "Copied" {
		t.Errorf("the button says %q, %v, want Copied", label, err)
	}
	return ask[string](t, b, "window.copied")
}

// On paper: light whatever the screen, without buttons, with what is folded.
func TestBrowserPrints(t *testing.T) {
	b := newBrowser(t)
	b.open(t, writePage(t, stored(t)), 1280, "dark")
	ask[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = false), true`)
	yes := true
	pdf, err := chromedp.Call(b.ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	if err != nil {
		t.Fatalf("printing: %v", err)
	}
	if pages := bytes.Count(pdf.Data, []byte("/Type /Page\n")); pages < 2 || pages > 5 {
		t.Errorf("%d pages, want 2 to 5", pages)
	}
	_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask[string](t, b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s, want white", got)
	}
	if got := ask[string](t, b, `getComputedStyle(document.querySelector('button.copy')).display`); got != "none" {
		t.Errorf("buttons are printed: display %s", got)
	}
	if got := ask[bool](t, b, `document.querySelector('#pairs p').checkVisibility({contentVisibilityAuto: true})`); !got {
		t.Error("what is folded is not printed")
	}
}
