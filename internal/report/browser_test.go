package report

import (
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

// open shows a file at this width and in this colour scheme.
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

// collisions lists texts within one drawing that cover each other.
const collisions = `(() => {
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
})()`

// overflow lists what sticks out of the page at the right, apart from what
// lies in a box that scrolls.
const overflow = `(() => {
  const width = document.documentElement.clientWidth, out = [];
  if (document.documentElement.scrollWidth > width) out.push('page ' + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.scroll, pre, .defs')) continue;
    if (e.getBoundingClientRect().right > width + 0.5) out.push(e.tagName + '.' + (e.className.baseVal ?? e.className));
  }
  return out;
})()`

// clipped lists shown blocks whose text is wider than they are, as far as they
// do not scroll.
const clipped = `[...document.querySelectorAll('.cdirow > *, .numbers div, .caption, h1, h3, .alerts li')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).display !== 'inline')
  .map(e => e.className + ': ' + e.textContent.trim().slice(0, 60))`

// sideways lists tables that must be scrolled sideways to be read.
const sideways = `[...document.querySelectorAll('.scroll')]
  .filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => (e.closest('section, article, details')?.querySelector('h2, h3, summary')?.textContent ?? '') + ' ' + e.scrollWidth + ' > ' + e.clientWidth)`

// On the screen of a laptop no table of an ordinary run needs to be scrolled
// sideways.
func TestBrowserTablesFit(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	for _, name := range []string{"lab", "mixed", "channels", "quarter", "cancelled", "twenty metrics", "gain", "large"} {
		b.open(t, writePage(t, dir, name), 1280, "light")
		ask[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true), true`)
		if got := ask[[]string](t, b, sideways); len(got) > 0 {
			t.Errorf("%s: tables are too wide: %q", name, got)
		}
	}
	b.open(t, writePage(t, dir, "lab"), 400, "light")
	if got := ask[[]string](t, b, sideways); len(got) == 0 {
		t.Error("no table is too wide for a telephone: the check is blind")
	}
}

func writePage(t *testing.T, dir, name string) string {
	t.Helper()
	d, fs, o := cases()[name]()
	path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".html")
	if err := os.WriteFile(path, []byte(renderWith(t, d, fs, o)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A real browser must find nothing to complain about, fetch nothing, and lay
// everything out without overlap, wide and narrow, light and dark.
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	for name := range cases() {
		path := writePage(t, dir, name)
		for _, width := range []int64{400, 1280} {
			b.open(t, path, width, map[int64]string{400: "dark", 1280: "light"}[width])
			// Folded parts are laid out when they are opened.
			ask[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true), true`)
			for what, expression := range map[string]string{
				"labels collide": collisions, "sticks out": overflow, "is clipped": clipped,
			} {
				if got := ask[[]string](t, b, expression); len(got) > 0 {
					t.Errorf("%s at %d px: %s: %q", name, width, what, got[:min(5, len(got))])
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
		if !strings.HasPrefix(url, "file://"+dir) {
			t.Errorf("the page asked for %s", url)
		}
	}
}

// The two conveniences work, and follow the theme of the system.
func TestBrowserConveniences(t *testing.T) {
	b := newBrowser(t)
	path := writePage(t, t.TempDir(), "mixed")
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
	_, fs := mixed()
	if got, want := copyFindings(t, b), tsv(findingsFlat(fs)); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// copyFindings clicks the button below the table and returns what would be in
// the clipboard, once the button says that it is.
func copyFindings(t *testing.T, b *browser) string {
	t.Helper()
	ask[bool](t, b, `(() => {
	  const button = document.querySelector('#findings button.copy');
	  document.addEventListener('copy', () => { window.copied = document.activeElement.value; });
	  if (navigator.clipboard) navigator.clipboard.writeText = s => { window.copied = s; return Promise.resolve(); };
	  window.done = new Promise(resolve => new MutationObserver(() => resolve(button.textContent))
	    .observe(button, {childList: true, characterData: true, subtree: true}));
	  return true;
	})()`)
	if err := chromedp.Do(b.ctx, chromedp.Click("#findings button.copy")); err != nil {
		t.Fatalf("clicking: %v", err)
	}
	label, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("window.done", chromedp.EvalAwaitPromise))
	if err != nil || label != "Copied" {
		t.Errorf("the button says %q, %v, want Copied", label, err)
	}
	return ask[string](t, b, "window.copied")
}

// On paper: light whatever the screen, and every page with something on it.
func TestBrowserPrints(t *testing.T) {
	b := newBrowser(t)
	b.open(t, writePage(t, t.TempDir(), "mixed"), 1280, "dark")
	pdf, err := chromedp.Call(b.ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PreferCSSPageSize: ptr(true), PrintBackground: ptr(true)})
	if err != nil {
		t.Fatalf("printing: %v", err)
	}
	pages := strings.Count(string(pdf.Data), "/Type /Page\n")
	if pages < 5 || pages > 20 {
		t.Errorf("%d pages, want 5 to 20", pages)
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
}
