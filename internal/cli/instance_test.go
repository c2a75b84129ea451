package cli

import (
	"path/filepath"
	"testing"
)

func TestSpareLeavesWhatIsKept(t *testing.T) {
	dir := t.TempDir()
	if n := spare(dir, 1); n <= 0 {
		t.Errorf("spare is %d where a byte is kept", n)
	}
	if n, most := spare(dir, 1<<50), spare(dir, 1); n >= 0 || n < most-1<<50-1<<30 || n > most-1<<50+1<<30 { // others write meanwhile
		t.Errorf("spare is %d where 1 PiB is kept, and %d where a byte is", n, most)
	}
	if n := spare(filepath.Join(dir, "gone"), 1); n != 0 {
		t.Errorf("spare is %d in a folder that is gone", n)
	}
}
