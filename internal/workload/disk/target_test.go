package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mountTable = `21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:25 / /dev/shm rw - tmpfs tmpfs rw
40 21 8:1 / /mnt/data rw - xfs /dev/sda1 rw
41 40 8:2 / /mnt/data/my\040disk rw shared:7 master:1 - ext4 /dev/sdb rw
42 21 8:3 / /mnt/twice rw - ext3 /dev/sdc rw
43 42 8:4 / /mnt/twice rw - btrfs /dev/sdd rw
`

func TestTypeOfMount(t *testing.T) {
	for path, want := range map[string]string{
		"/": "ext4", "/mnt": "ext4", "/mnt/data": "xfs", "/mnt/data/a/b": "xfs", "/mnt/database": "ext4",
		"/mnt/data/my disk/x": "ext4", "/mnt/data/my": "xfs", "/mnt/twice/x": "btrfs", "/dev/shm/x": "tmpfs",
	} {
		if got := typeOfMount(mountTable, path); got != want {
			t.Errorf("typeOfMount(%s) = %q, want %q", path, got, want)
		}
	}
	if got := typeOfMount("nonsense\n", "/"); got != "" {
		t.Errorf("typeOfMount without a table = %q, want none", got)
	}
}

func FuzzTypeOfMount(f *testing.F) {
	f.Add(mountTable, "/mnt/data")
	f.Add("a b c d /\\040 e - t", "/ ")
	f.Fuzz(func(t *testing.T, table, path string) {
		_ = typeOfMount(table, path)
	})
}

func FuzzVersion(f *testing.F) {
	f.Add("fio-3.33")
	f.Add("fio-2.21")
	f.Fuzz(func(t *testing.T, s string) {
		var v int
		if _, err := fmt.Sscanf(s, "fio-%d", &v); versionForm.MatchString(s) && (err != nil || v < 3) {
			t.Errorf("version %d of %q is taken for 3 or later", v, s)
		}
	})
}

// TestScratch leaves what others still use, and removes what killed tasks left
// behind.
func TestScratch(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a[b]*") // a pattern, if it is not escaped
	abandoned := filepath.Join(folder, scratchPrefix+"1")
	strange := filepath.Join(folder, scratchPrefix+"2")
	for _, dir := range []string{abandoned, strange} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(abandoned, "data"), filepath.Join(strange, "thesis")} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, err := newScratch(folder)
	if err != nil {
		t.Fatal(err)
	}
	second, err := newScratch(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{filepath.Base(first.dir): true, filepath.Base(second.dir): true, filepath.Base(strange): true}
	got := map[string]bool{}
	for _, name := range left(t, folder) {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is in the folder (-want +got):\n%s", diff)
	}
	for _, s := range []*scratch{first, second, first} {
		if err := s.remove(); err != nil {
			t.Errorf("remove() = %v", err)
		}
	}
	if got := left(t, folder); len(got) != 1 {
		t.Errorf("there are %q, want the strange folder only", got)
	}
}
