// Package e2e holds the tests that run scalebench as a user does: servers, agents and
// commands are processes, labs have namespaces and limits, and targets are real servers.
// A short form of each is in `make test`. The Makefile's proofs run the long forms, which
// flags of this package choose: `go test ./test/e2e -run TestLabProof -args -lab-proof`.
//
// Scripts that need one command and no server are in internal/cli/testdata/script.
package e2e
