// Package environ chooses which variables of this process's environment reach
// the programs that it starts for a benchmark: those that nearly every program
// may need and that hold no secrets, and those that a file names.
package environ

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// always are the patterns of what every program gets. docs/security.md shows
// the same.
func always() []string {
	return strings.Fields(`PATH HOME USER LOGNAME SHELL TMPDIR TZ LANG LANGUAGE LC_*
		LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR GOMAXPROCS`)
}

// Proxies are the patterns of what names proxies. Every program gets those
// whose addresses hold no user and password.
func Proxies() []string {
	return strings.Fields("HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy")
}

// own is how variables begin that configure scalebench itself: they may hold a
// token, and reach no program, named or not.
const own = "SCALEBENCH_"

// Without returns an environment without what configures scalebench itself.
func Without(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(kv string) bool { return strings.HasPrefix(kv, own) })
}

// Pick returns of an environment what every program gets, the variables of
// these names, and those that match these patterns, which are path.Match's.
func Pick(all, names, patterns []string) []string {
	return slices.DeleteFunc(Without(all), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return !slices.Contains(names, name) && !matches(patterns, name) && !matches(always(), name) &&
			(!matches(Proxies(), name) || strings.Contains(value, "@"))
	})
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil })
}

// Check reports what is wrong with the names that a file wants to be passed on;
// empty if nothing is.
func Check(names []string) (problem, allowed string) {
	for i, name := range names {
		switch {
		case !form.MatchString(name):
			return fmt.Sprintf("%q cannot name a variable", name), "use letters, digits and _, beginning with a letter or _"
		case strings.HasPrefix(name, own):
			return name + " configures scalebench itself and is not passed on", "use another name, or give the value in the file"
		case slices.Contains(names[:i], name):
			return name + " appears twice", "name it once"
		}
	}
	return "", ""
}

var form = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Missing returns those of these names that an environment lacks, or that
// reach no program.
func Missing(all, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(Without(all), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
}
