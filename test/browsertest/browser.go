// Package browsertest drives a real browser: it lays a page out, and what is
// wrong with it can be asked.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// LabelsCollide is an expression that lists the texts within one drawing that
// cover each other.
const LabelsCollide = `(() => {
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

// Browser is one tab that remembers what went wrong in it.
type Browser struct {
	Context context.Context // of the tab, for chromedp

	mu                   sync.Mutex
	complaints, requests []string
}

// New starts a browser. Without one the test is skipped, except in CI.
func New(t *testing.T) *Browser {
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
	b := &Browser{Context: ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("starting the browser: %v", err)
	}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatalf("listening to the browser: %v", err)
	}
	return b
}

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

func (b *Browser) note(event any) {
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

// Open shows a file at this width, in pixels, and in this colour scheme, with
// all folds open: what is folded is laid out only then.
func (b *Browser) Open(t *testing.T, path string, width int64, scheme string) {
	t.Helper()
	emulate := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
	if err := chromedp.Do(b.Context, chromedp.EmulateViewport(width, 900), emulate, chromedp.Navigate("file://"+path)); err != nil {
		t.Fatalf("opening %s: %v", path, err)
	}
	Ask[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true), true`)
}

// Ask evaluates an expression in the page.
func Ask[T any](t *testing.T, b *Browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("asking the page: %v", err)
	}
	return v
}

// Requests are the addresses that pages asked for.
func (b *Browser) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// CheckComplaints fails the test for each console message, log entry and
// exception.
func (b *Browser) CheckComplaints(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the browser complains: %s", c)
	}
}
