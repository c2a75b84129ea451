package load_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

func TestRequestCheck(t *testing.T) {
	const u = "http://127.0.0.1:8080/a?b=c"
	with := func(change func(*load.Request)) load.Request {
		r := load.Request{Name: "home", URL: u, Weight: 1}
		change(&r)
		return r
	}
	header := func(name string, values ...string) load.Request {
		return with(func(r *load.Request) { r.Header = http.Header{name: values} })
	}
	for name, c := range map[string]struct {
		request load.Request
		problem string // "" if it is fine
	}{
		"plain":            {with(func(*load.Request) {}), ""},
		"tls and body":     {with(func(r *load.Request) { r.URL, r.Method, r.Body = "https://[::1]/x", "POST", []byte("x") }), ""},
		"never done":       {with(func(r *load.Request) { r.Weight = 0 }), ""},
		"default port":     {with(func(r *load.Request) { r.URL = "http://example.com:/" }), ""},
		"header":           {header("X-Tab", "a\tb", "ü"), ""},
		"host":             {header("Host", "www.example.com"), ""},
		"no name":          {with(func(r *load.Request) { r.Name = "" }), "name is missing"},
		"method":           {with(func(r *load.Request) { r.Method = "GET /" }), "not a method"},
		"tunnel":           {with(func(r *load.Request) { r.Method = "CONNECT" }), "tunnel"},
		"relative":         {with(func(r *load.Request) { r.URL = "/a" }), "begin with http"},
		"scheme":           {with(func(r *load.Request) { r.URL = "ftp://a/" }), "begin with http"},
		"no host":          {with(func(r *load.Request) { r.URL = "http:///a" }), "no host"},
		"port":             {with(func(r *load.Request) { r.URL = "http://a:70000/" }), "65535"},
		"port 0":           {with(func(r *load.Request) { r.URL = "http://a:0/" }), "65535"},
		"password":         {with(func(r *load.Request) { r.URL = "http://u:sesame@a/" }), "Authorization"},
		"not readable":     {with(func(r *load.Request) { r.URL = "http://u:sesame@a:x/%zz" }), "must look like"},
		"weight":           {with(func(r *load.Request) { r.Weight = -1 }), "weight -1"},
		"no number":        {with(func(r *load.Request) { r.Weight = math.NaN() }), "weight NaN"},
		"infinite":         {with(func(r *load.Request) { r.Weight = math.Inf(1) }), "weight +Inf"},
		"smuggled":         {header("X", "sesame\r\nY: 1"), "line break"},
		"header's name":    {header("A B", "x"), "not the name of a header"},
		"length":           {header("content-length", "3"), "the driver writes"},
		"encoding":         {header("Transfer-Encoding", "chunked"), "the driver writes"},
		"two hosts":        {header("Host", "a", "b"), "exactly one"},
		"empty header":     {header("", "x"), "not the name of a header"},
		"delete character": {header("X", "\x7f"), "control character"},
	} {
		err := c.request.Check()
		switch {
		case c.problem == "" && err != nil:
			t.Errorf("%s: Check() = %v, want nil", name, err)
		case c.problem != "" && (!errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: Check() = %v, want model.ErrUsage about %q", name, err, c.problem)
		case err != nil && strings.Contains(err.Error(), "sesame"):
			t.Errorf("%s: Check() = %v, which shows a secret", name, err)
		}
	}
}

func TestCheckRequests(t *testing.T) {
	a := load.Request{Name: "a", URL: "http://x/", Weight: 3}
	b := load.Request{Name: "b", URL: "http://x/b", Weight: 1}
	bad := load.Request{Name: "c", URL: "x"}
	for name, c := range map[string]struct {
		requests []load.Request
		ok       bool
	}{
		"two":        {[]load.Request{a, b}, true},
		"none":       {nil, false},
		"same names": {[]load.Request{a, b, a}, false},
		"one is bad": {[]load.Request{a, bad}, false},
	} {
		if err := load.CheckRequests(c.requests); (err == nil) != c.ok || (err != nil && !errors.Is(err, model.ErrUsage)) {
			t.Errorf("%s: CheckRequests = %v, want ok = %v", name, err, c.ok)
		}
	}
	want := []load.Weight{{Name: "a", Weight: 3}, {Name: "b", Weight: 1}}
	if diff := cmp.Diff(want, load.MixOf([]load.Request{a, b})); diff != "" {
		t.Errorf("MixOf (-want +got):\n%s", diff)
	}
}

func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		text    string
		in, out []int
	}{
		{"", []int{200, 204, 299}, []int{0, 100, 199, 300, 302, 399, 400, 500, 600}},
		{"200", []int{200}, []int{199, 201, 302}},
		{"2xx", []int{200, 299}, []int{199, 300}},
		{" 200-299, 404 ", []int{200, 250, 299, 404}, []int{300, 403, 405}},
		{"5XX,3xx", []int{500, 599, 300}, []int{200, 404}},
	} {
		s, err := load.ParseStatuses(c.text)
		if err != nil {
			t.Errorf("ParseStatuses(%q) = %v", c.text, err)
		}
		for _, n := range c.in {
			if !s.Match(n) {
				t.Errorf("%q.Match(%d) = false, want true", c.text, n)
			}
		}
		for _, n := range c.out {
			if s.Match(n) {
				t.Errorf("%q.Match(%d) = true, want false", c.text, n)
			}
		}
	}
	for _, text := range []string{"1xx", "600", "20", "2000", "299-200", "200-", "xx", "+20", "200,,404", "200;404", "-200", "0200"} {
		if s, err := load.ParseStatuses(text); !errors.Is(err, model.ErrUsage) {
			t.Errorf("ParseStatuses(%q) = %v, %v, want model.ErrUsage", text, s, err)
		}
	}
}

// FuzzStatuses: what is accepted holds final answers only.
func FuzzStatuses(f *testing.F) {
	for _, s := range []string{"", "2xx", "200-299,404", "5XX", "200-299-300"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load.ParseStatuses(text)
		for status := range 1000 {
			if err == nil && s.Match(status) && (status < 200 || status > 599) {
				t.Errorf("%q matches %d", text, status)
			}
		}
	})
}
