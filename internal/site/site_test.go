package site

import (
	"bytes"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// TestFindLinks: all requests that a page offers to a path, and no others.
func TestFindLinks(t *testing.T) {
	for name, c := range map[string]struct {
		page, at string
		want     []string
	}{
		"links of one path":      {`<a href="/v?id=1">a</a><a href="/w?id=2">b</a><A HREF='/v?id=3'>c</A>`, "/", []string{"/v?id=1", "/v?id=3"}},
		"without quotes":         {`<a class=x href=/v?id=1>a</a><a href=/v>b</a>`, "/", []string{"/v", "/v?id=1"}},
		"entities":               {`<a href="/v?id=1&amp;page=2">`, "/", []string{"/v?id=1&page=2"}},
		"what is no entity":      {`<a href="/v?id=1&copy=2&parent=0">`, "/", []string{"/v?id=1&copy=2&parent=0"}},
		"relative":               {`<a href="v?id=1"><a href="?id=3">`, "/x/y", nil},
		"relative, up":           {`<a href="../v?id=2">`, "/x/y", []string{"/v?id=2"}},
		"relative to the page":   {`<a href="v?id=1"><a href="?id=3">`, "/v?id=9", []string{"/v?id=1", "/v?id=3"}},
		"fragments":              {`<a href="#top"><a href="/v?id=1#c2"><a href="">`, "/v?id=9", []string{"/v?id=1"}},
		"absolute":               {`<a href="http://h:80/v?id=1"><a href="http://other/v?id=2"><a href="//H:80/v?id=3"><a href="https://h:80/v?id=4">`, "/", []string{"/v?id=1", "/v?id=3"}},
		"comments and scripts":   {`<!-- <a href="/v?id=1"> --><script>x = '<a href="/v?id=2">'</script><a href="/v?id=3">`, "/", []string{"/v?id=3"}},
		"not to be sent":         {"<a href='/v?a=1\r\nX: y'><a href='/v?b=\x01'><a href='/v?b=1 \xff'><a href='javascript:v'>", "/", []string{"/v?b=1%20%FF"}},
		"quotes in a tag":        {`<a title="x > y" href="/v?id=1">`, "/", []string{"/v?id=1"}},
		"an end in the middle":   {`<a href="/v?id=1`, "/", []string{"/v?id=1"}},
		"longer paths":           {`<a href="/v/w?id=1"><a href="/vv?id=1">`, "/", nil},
		"encoded":                {`<a href="/%76?id=1">`, "/", []string{"/%76?id=1"}},
		"a form of the page":     {`<form method=get><input name=q value=1></form>`, "/v?id=9", []string{"/v?q=1"}},
		"an empty page":          {``, "/", nil},
		"a form and a link":      {`<a href="/v?id=1"><form action="/v"><input name=a value="b c"></form>`, "/", []string{"/v?a=b+c", "/v?id=1"}},
		"the query of an action": {`<form action="/v?x=1"><input name=a value=2></form>`, "/", []string{"/v?a=2"}},
	} {
		f, rng := Finder{Host: "h:80"}, source()
		var got []string
		for range 100 {
			if r, ok := f.Find([]byte(c.page), c.at, "/v", nil, User{}, rng); ok && !slices.Contains(got, r.Target) {
				got = append(got, r.Target)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFillForm: a form is sent as a browser does, with what a user writes.
func TestFillForm(t *testing.T) {
	page := []byte(`<form action="/other"><input name=no></form>
<FORM ACTION="/store?story=3" METHOD=post>
<input type="hidden" name="id" value="5&amp;6"> <input type=hidden name=kept value=" a ">
<input name=nickname><input type=password name=password value=old><input name=subject size=10>
<textarea name=body rows=3>old &lt;text&gt;</textarea><textarea name=note>kept &amp; sent</textarea>
<input type=checkbox name=no1><input type=checkbox name=yes checked><input type=radio name=r value=1><input type=radio name=r value=2 checked>
<select name=rating><option value=1>one<option value=1>uno</select><select name=none></select>
<input type=reset name=no2 value=x><input type=file name=no3><button name=go value=now>Go</button><input type=submit name=no4>
<input value="without a name"></FORM><input name=no5>`)
	fill := map[string]string{"nickname": "nickname", "password": "password", "subject": "words 2", "body": "text 40", "id2": "=1"}
	f := Finder{}
	r, ok := f.Find(page, "/", "/store", fill, User{Nickname: "user7", Password: "secret"}, source())
	if !ok || !r.Post || r.Target != "/store?story=3" {
		t.Fatalf("Find = %+v, %v", r, ok)
	}
	got, err := url.ParseQuery(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	subject, body := got.Get("subject"), got.Get("body")
	if strings.Count(subject, " ") != 1 || len(body) != 40 {
		t.Errorf("subject %q, body %q; want two words, and 40 bytes", subject, body)
	}
	got.Del("subject")
	got.Del("body")
	want := url.Values{"id": {"5&6"}, "kept": {" a "}, "nickname": {"user7"}, "password": {"secret"}, "note": {"kept & sent"},
		"yes": {"on"}, "r": {"2"}, "rating": {"1"}, "none": {""}, "go": {"now"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestFindUniform: each link is as likely as the others.
func TestFindUniform(t *testing.T) {
	page := []byte(strings.Repeat(`<a href="/x">`, 5) + `<a href="/v?0"><a href="/v?1"><a href="/v?2">`)
	var n [3]float64
	f, rng := Finder{}, source()
	for range 3000 {
		r, _ := f.Find(page, "/", "/v", nil, User{}, rng)
		n[r.Target[3]-'0']++
	}
	chi2 := 0.0
	for _, x := range n {
		chi2 += (x - 1000) * (x - 1000) / 1000
	}
	if chi2 > 13.8 { // p = .001 with 2 degrees of freedom
		t.Errorf("of 3000 draws %v went to each link, χ² = %.1f", n, chi2)
	}
}

// TestHostilePage: pages that are made to take long do not.
func TestHostilePage(t *testing.T) {
	for _, piece := range []string{`<form action="/v">`, `<a href="/v">`, `<a href="`, `<!--`, `<script>`, `<select name=a><option>`, `<a =`, `&`, `<textarea name=a>`, `<a href=/v `} {
		page := bytes.Repeat([]byte(piece), 1<<20/len(piece))
		f, rng := Finder{}, source()
		begin := time.Now()
		f.Find(page, "/", "/v", nil, User{}, rng)
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("a page of %q took %v", piece, took)
		}
	}
}

// TestBoard: the table of the built-in board is whole.
func TestBoard(t *testing.T) {
	s, err := Board().Prepared()
	if err != nil || len(s) != 24 {
		t.Fatalf("%d interactions, %v; want 24", len(s), err)
	}
	for _, x := range s {
		if x.Path != "/"+x.Name {
			t.Errorf("%s is at %s", x.Name, x.Path)
		}
		for _, to := range x.Links {
			if s.Index(to) < 0 {
				t.Errorf("%s leads to %s, which does not exist", x.Name, to)
			}
		}
	}
	if i := s.Index("stories of the day"); i != 0 {
		t.Errorf("stories of the day are interaction %d, want 0", i)
	}
}

func TestPrepared(t *testing.T) {
	for name, s := range map[string]Site{
		"nothing":     {},
		"twice":       {{Name: "a"}, {Name: "A"}},
		"a query":     {{Name: "a", Path: "/a?x"}},
		"no slash":    {{Name: "a", Path: "a"}},
		"a bad fill":  {{Name: "a", Fill: map[string]string{"x": "words"}}},
		"a fill of 0": {{Name: "a", Fill: map[string]string{"x": "text 0"}}},
	} {
		if _, err := s.Prepared(); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(`<a href="/v?id=1&amp;x"><form action=/v method=post><input name=a value="b"><select name=c><option>d</select></form>`), "/v?y", uint64(1))
	f.Add([]byte("<a href='/v?a=1\r\nX: y'><!-- <a href=v> --><script><a href=v></script>"), "/x/y", uint64(2))
	f.Add([]byte(`<a href="//h/v"><a href="%zz"><form><textarea name=x>`), "/v", uint64(3))
	f.Fuzz(func(t *testing.T, page []byte, at string, seed uint64) {
		before := bytes.Clone(page)
		finder := Finder{Host: "h"}
		r, ok := finder.Find(page, at, "/v", map[string]string{"a": "words 2"}, User{}, rand.New(rand.NewPCG(seed, 0)))
		if !bytes.Equal(before, page) {
			t.Error("the page was changed")
		}
		if !ok {
			return
		}
		if strings.ContainsFunc(r.Target+r.Body, func(c rune) bool { return c <= ' ' || c >= 0x7f }) || r.Target[0] != '/' {
			t.Errorf("%+v would break a request", r)
		}
		if u, err := url.ParseRequestURI(r.Target); err != nil || u.Path != "/v" {
			t.Errorf("%q does not lead to /v: %v", r.Target, err)
		}
	})
}
