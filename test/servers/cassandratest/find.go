package cassandratest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// supported are the versions of Java that Cassandra 5.0 runs on.
var supported = []string{"17", "11"}

// findJava returns the program of a Java that Cassandra runs on: that of
// JAVA_HOME, or one of those that Debian keeps beside each other.
func findJava(home string, installed []string) (string, error) {
	for _, want := range supported {
		for _, dir := range append([]string{home}, installed...) {
			if javaVersion(dir) == want {
				return filepath.Join(dir, "bin", "java"), nil
			}
		}
	}
	return "", errors.New("no Java 17 in JAVA_HOME or /usr/lib/jvm; later ones do not run Cassandra")
}

var versionLine = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// javaVersion reads the first number of the version of the Java in a
// directory; "" without one.
func javaVersion(dir string) string {
	release, err := os.ReadFile(filepath.Join(dir, "release"))
	if dir == "" || err != nil {
		return ""
	}
	if m := versionLine.FindSubmatch(release); m != nil {
		return string(m[1])
	}
	return ""
}

func installedJavas() []string {
	dirs, _ := filepath.Glob("/usr/lib/jvm/*") // the pattern is well-formed
	slices.Sort(dirs)
	return dirs
}

// findJars returns the directory of Cassandra's jars: below the module's root,
// where scripts/cassandra.sh puts them.
func findJars() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		jars := filepath.Join(dir, ".tools", "cassandra", "lib")
		if _, err := os.Stat(jars); err != nil {
			return "", fmt.Errorf("cassandra is not installed: %w", err)
		}
		return jars, nil
	}
	return "", errors.New("this is not inside the module: no go.mod in any directory above")
}
