package sqlstore

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/model"
)

func TestText(t *testing.T) {
	tests := []struct{ in, stored string }{
		{"", ""},
		{"plain ünïcode\n", "plain ünïcode\n"},
		{"a\x00b", "\x01YQBi"},
		{"\xff", "\x01/w=="},
		{"\x01YQBi", "\x01AVlRQmk="},
	}
	for _, tt := range tests {
		if got, err := text(tt.in).Value(); got != tt.stored || err != nil {
			t.Errorf("text(%q).Value() = %q, %v, want %q", tt.in, got, err, tt.stored)
		}
		var back text
		if err := back.Scan(tt.stored); string(back) != tt.in || err != nil {
			t.Errorf("Scan(%q) = %q, %v, want %q", tt.stored, back, err, tt.in)
		}
	}
}

// FuzzText: whatever a string holds, its stored form suits PostgreSQL, and it
// comes back.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x00b", "\xff\x01", "\x01plain"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := text(s).Value()
		if err != nil {
			t.Fatal(err)
		}
		stored := v.(string)
		if !utf8.ValidString(stored) || strings.Contains(stored, "\x00") {
			t.Errorf("text(%q) is stored as %q", s, stored)
		}
		var back text
		if err := back.Scan(stored); err != nil || string(back) != s {
			t.Errorf("Scan(%q) = %q, %v, want %q", stored, back, err, s)
		}
	})
}

func TestInstant(t *testing.T) {
	zone := time.FixedZone("somewhere", 3600)
	tests := []struct {
		in   time.Time
		want any
	}{
		{time.Time{}, nil},
		{time.Unix(0, 0), int64(0)},
		{time.Date(2031, 2, 3, 4, 5, 6, 7, zone), int64(1927854306000000007)},
	}
	for _, tt := range tests {
		got, err := instant(tt.in).Value()
		if got != tt.want || err != nil {
			t.Errorf("instant(%v).Value() = %v, %v, want %v", tt.in, got, err, tt.want)
		}
		var back instant
		if err := back.Scan(got); err != nil || !time.Time(back).Equal(tt.in) || time.Time(back).Location() != time.UTC {
			t.Errorf("Scan(%v) = %v, %v, want %v in UTC", got, time.Time(back), err, tt.in)
		}
	}
	far := time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, err := instant(far).Value(); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("instant(%v).Value() = %v, %v, want model.ErrInvalid", far, got, err)
	}
}

func TestDocumentDamaged(t *testing.T) {
	for _, src := range []any{"", "{", "{} {}", nil, int64(3)} {
		var v map[string]any
		if err := (document{&v}).Scan(src); err == nil {
			t.Errorf("Scan(%v) succeeded with %v", src, v)
		}
	}
}
