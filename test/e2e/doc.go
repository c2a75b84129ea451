// Package e2e holds the tests that run scalebench as a user does: servers, agents and
// commands are processes, labs have namespaces and limits, and targets are real servers. They
// judge no time, and mostly wait: several run at a time, beside other packages. Those that
// measure are in test/measured, and the long ones in test/proof. What they share is in
// test/program.
//
// Scripts that need one command and no server are in internal/cli/testdata/script.
package e2e
