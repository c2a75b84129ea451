package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeaders: a header is taken as curl takes it, and in the older form, and
// nothing in its value is split.
func TestHeaders(t *testing.T) {
	var got Headers
	for _, text := range []string{
		"Cookie: a=1,b=2; c=3", "X-Time:12:30", "X-Old=1:2,3", "Authorization: Basic eA==", "X-Empty=", "Host: shop.test:80",
	} {
		if err := got.Set(text); err != nil {
			t.Errorf("Set(%q) = %v", text, err)
		}
	}
	want := Headers{
		"Cookie": "a=1,b=2; c=3", "X-Time": "12:30", "X-Old": "1:2,3", "Authorization": "Basic eA==", "X-Empty": "", "Host": "shop.test:80",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers differ (-want +got):\n%s", diff)
	}
	for text, says := range map[string]string{
		"Cookie": "-H 'Cookie: a=1'", "": "-H 'Cookie: a=1'", ": x": "-H 'Cookie: a=1'", "A B: c": "-H 'Cookie: a=1'", "=x": "-H 'Cookie: a=1'",
		"Ü: x": "not the name", "X:": "has no value", "Host=": "exactly one value", "Content-Length: 1": "leave it out", "transfer-encoding: chunked": "leave it out",
		"cookie: again": "given twice", "X: a\nY: b": "line break",
	} {
		if err := got.Set(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Set(%q) = %v, want %q", text, err, says)
		}
	}
	if len(got) != len(want) {
		t.Errorf("what was refused was taken: %v", got)
	}
}
