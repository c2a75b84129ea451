//go:build !linux

package runner

// agentMain is used by the tests of Linux only.
func agentMain(string) int { return 1 }
