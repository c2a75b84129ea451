package board_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/model"
)

func TestParseWork(t *testing.T) {
	got, err := board.ParseWork([]string{"web=1ms, app=5ms,app:ViewStory=7.5ms", "db=0s,router=20us"})
	want := board.Work{"web": time.Millisecond, "app": 5 * time.Millisecond, "app:ViewStory": 7500 * time.Microsecond, "db": 0, "router": 20 * time.Microsecond}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("ParseWork: %v, -want +got:\n%s", err, diff)
	}
}

func TestParseWorkErrors(t *testing.T) {
	for text, says := range map[string]string{
		"":                      "it has no =",
		"app":                   "it has no =",
		"ap=1ms":                `no tier is called "ap"`,
		"app:View=1ms":          `no interaction is called "View"`,
		"app=1":                 "is no time",
		"app=-1ms":              "is no time",
		"app=1h":                "is no time",
		"app=1ms,app=2ms":       "has a time already",
		"app=1ms,,web=1ms":      "it has no =",
		"data:StoriesOfDay=1ms": `no tier is called "data"`,
	} {
		_, err := board.ParseWork([]string{text})
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseWork(%q) = %v, want that it says %q", text, err, says)
		}
	}
}

func FuzzParseWork(f *testing.F) {
	f.Add("web=1ms,app:ViewStory=2ms")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := board.ParseWork([]string{text})
		for key, d := range w {
			if d < 0 || key == "" {
				t.Errorf("ParseWork(%q) has %q: %v", text, key, d)
			}
		}
		if err != nil && !errors.Is(err, model.ErrUsage) {
			t.Error(err)
		}
	})
}
