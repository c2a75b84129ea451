package attack

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/security.md names exists.
func TestDocumentedTestsExist(t *testing.T) {
	t.Parallel()
	page := string(must[[]byte](t)(os.ReadFile("../../docs/security.md")))
	declared := make(map[string]bool)
	check(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t`).FindAllStringSubmatch(string(text), -1) {
			declared[m[1]] = true
		}
		return err
	}))
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1)
	if len(named) < 40 {
		t.Errorf("docs/security.md names %d tests, want at least 40", len(named))
	}
	for _, m := range named {
		if !declared[m[1]] {
			t.Errorf("docs/security.md names %s, which does not exist", m[1])
		}
	}
}
