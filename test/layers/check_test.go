package layers

import (
	"fmt"
	"slices"
	"strings"
)

// check returns what is wrong with one import, or "".
func check(module string, e edge) string {
	from, ok := find(e.from)
	if !ok {
		return fmt.Sprintf("package %s has no tier: add it to the table in test/layers/tiers_test.go and to docs/architecture.md", e.from)
	}
	if e.path == "" {
		return ""
	}
	if inside, ok := strings.CutPrefix(e.path, module+"/"); ok {
		return checkInside(from, packageName(inside), e)
	}
	if standard(e.path) {
		return checkStandard(from, e)
	}
	return checkLibrary(from, e)
}

// checkInside checks an import of one package of the module by another. Tests
// may import upwards: a test above its package is how two packages are tried
// together, and no cycle can come of it.
func checkInside(from place, target string, e edge) string {
	to, ok := find(target)
	switch {
	case !ok:
		return fmt.Sprintf("imports %s, which has no tier: add it to the table in test/layers/tiers_test.go and to docs/architecture.md", target)
	case e.test || from.tier == testTier:
		return ""
	case to.tier == testTier:
		return fmt.Sprintf("imports %s outside a _test file: helpers of tests do not belong in the binary", target)
	case from.pkg != to.pkg && slices.Contains(separate, from.pkg) && slices.Contains(separate, to.pkg):
		return fmt.Sprintf("%s imports %s: master and agent never import each other; they meet through the queue, so that each can run on a machine of its own", from.pkg, to.pkg)
	case to.tier >= from.tier:
		return fmt.Sprintf("%s (tier %d) imports %s (tier %d): imports go to lower tiers only, so that every package can be read, tested and replaced knowing only what is below it", e.from, from.tier, target, to.tier)
	}
	return ""
}

// standard reports whether a path is in the standard library: its first
// element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func checkStandard(from place, e edge) string {
	inTest := e.test || from.tier == testTier
	if (e.path == "testing" || strings.HasPrefix(e.path, "testing/")) && !inTest {
		return fmt.Sprintf("imports %s outside a _test file: helpers of tests do not belong in the binary", e.path)
	}
	if e.path == "C" {
		return "imports C: the binary is static (CGO_ENABLED=0), so that it runs on any machine it is copied to"
	}
	return ""
}

func checkLibrary(from place, e edge) string {
	lib, ok := findLibrary(e.path)
	switch {
	case !ok:
		return fmt.Sprintf("imports %s, a library that no rule knows: add it to the table in test/layers/tiers_test.go and, with the reason for it, to DEPENDENCIES.md", e.path)
	case lib.testOnly && (e.test || from.tier == testTier):
		return ""
	case lib.testOnly:
		return fmt.Sprintf("imports %s outside a _test file: %s", lib.module, lib.reason)
	case lib.allows(from):
		return ""
	}
	return fmt.Sprintf("imports %s, which only %s may: %s", lib.module, strings.Join(lib.users, ", "), lib.reason)
}
