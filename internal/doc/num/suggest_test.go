package num

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	known := []string{"trials", "threads", "timeout", "timeouts", "description", "name", "kind"}
	for word, want := range map[string]string{
		"trails": "trials", "thread": "threads", "Timeout": "timeout", "nmae": "name", "desc": "description", "knid": "kind",
		"xyz": "", "": "", "t": "", "tim": "",
	} {
		if got := Suggest(word, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"trails", "trials", 1}, {"ca", "abc", 3},
	} {
		got, back := distance(c.a, c.b, 10), distance(c.b, c.a, 10)
		if diff := cmp.Diff([]int{c.want, c.want}, []int{got, back}); diff != "" {
			t.Errorf("distance(%q, %q), both ways (-want +got):\n%s", c.a, c.b, diff)
		}
	}
}
