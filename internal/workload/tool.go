package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds a program on the PATH of the task's environment, which need
// not be that of this process.
func LookPath(name string, environ []string) (string, error) {
	var path string
	for _, v := range environ {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p // the last one counts
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("no %s in PATH %q", name, path)
}
