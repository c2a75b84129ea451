package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServiceRefs(t *testing.T) {
	got := slices.Collect(ServiceRefs("a ${service.db} b${service.a-b_C9[12]}${service.x[*]} ${service.y[1} ${service.z ${service.q[a]} ${service.r[]} ${self}"))
	want := []ServiceRef{
		{Text: "${service.db}", Name: "db"},
		{Text: "${service.a-b_C9[12]}", Name: "a-b_C9", Index: 12},
		{Text: "${service.x[*]}", Name: "x", Index: -1},
		{Text: "${service.y", Name: "y", Problem: "is not closed"},
		{Text: "${service.z", Name: "z", Problem: "is not closed"},
		{Text: "${service.q[a]}", Name: "q", Problem: "has no number in its brackets"},
		{Text: "${service.r[]}", Name: "r", Problem: "has no number in its brackets"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ServiceRefs (-want +got):\n%s", diff)
	}
}

// What is found is what is filled in, letter for letter.
func TestAddressed(t *testing.T) {
	r := strings.NewReplacer(append(Addressed("db", []string{"10.0.0.1", "10.0.0.2"}), Addressed("none", nil)...)...)
	text := "${service.db} ${service.db[0]} ${service.db[1]} ${service.db[*]} ${service.db[2]}"
	if got, want := r.Replace(text), "10.0.0.1 10.0.0.1 10.0.0.2 10.0.0.1,10.0.0.2 ${service.db[2]}"; got != want {
		t.Errorf("filled in: %q, want %q", got, want)
	}
}

// No text breaks the parser, and filling each reference with itself changes
// nothing.
func FuzzServiceRefs(f *testing.F) {
	f.Add("${service.a[1]}${service.b[*]} ${service.")
	f.Fuzz(func(t *testing.T, text string) {
		if got := FillRefs(text, func(r ServiceRef) string { return r.Text }); got != text {
			t.Errorf("FillRefs(%q) = %q", text, got)
		}
	})
}

func TestCanKeep(t *testing.T) {
	for name, want := range map[string]bool{
		"db-0-redis.log": true, "stdout": false, "stderr": false, "": false, ".x": false, "a/b": false, "..": false, strings.Repeat("a", 201): false,
	} {
		if got := CanKeep(name); got != want {
			t.Errorf("CanKeep(%q) = %v, want %v", name, got, want)
		}
	}
}
