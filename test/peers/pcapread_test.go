package peers

import (
	"bytes"
	"encoding/hex"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// capture is of two connections to nginx's port 18099, with two requests each.
func capture(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/loopback.pcap.hex")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(string(bytes.ReplaceAll(text, []byte("\n"), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOnWire: the times are those that tcpdump prints of the same capture.
func TestOnWire(t *testing.T) {
	want := []time.Duration{36695, 46138, 75262, 86278}
	got, err := onWire(bytes.NewReader(capture(t)), 18099)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got) // connections that are open at the end come in any order
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("onWire (-want +got):\n%s", diff)
	}
	if got, err := onWire(bytes.NewReader(capture(t)), 80); err != nil || len(got) > 0 {
		t.Errorf("onWire of another port = %v, %v", got, err)
	}
	if got, err := onWire(bytes.NewReader(capture(t)[4:]), 18099); err == nil {
		t.Errorf("onWire of bytes that are not a capture = %v, want an error", got)
	}
}

// FuzzOnWire: whatever is in a capture is read to its end, or refused.
func FuzzOnWire(f *testing.F) {
	f.Add(capture(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		took, err := onWire(bytes.NewReader(b), 18099)
		if err != nil && len(took) > 0 {
			t.Errorf("%d times and %v", len(took), err)
		}
	})
}
