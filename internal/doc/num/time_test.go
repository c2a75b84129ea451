package num

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	day := time.Date(2026, 3, 20, 14, 30, 0, 0, time.UTC)
	for _, tt := range []struct{ name, got, want string }{
		{"Span", Span(36 * time.Hour), Seconds(36 * 3600)},
		{"Span of days", Span(60 * time.Hour), "2.5 days"},
		{"Span of whole days", Span(72 * time.Hour), "3 days"},
		{"Clock", Clock(day), "2026-03-20 14:30 UTC"},
		{"Clock with seconds", Clock(day.Add(5 * time.Second)), "2026-03-20 14:30:05 UTC"},
		{"Do of one", Do(1, "node"), "1 node does"},
		{"Do of many", Do(1200, "pair"), Grouped(1200) + " pairs do"},
		{"Signed", Signed(0.12), "+12.0 %"},
		{"Signed below 0", Signed(-0.031), "−3.1 %"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
