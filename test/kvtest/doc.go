// Package kvtest is the suite that every implementation of kv.Store passes, and
// the servers it runs on: Redis and MariaDB, each in a temporary directory, on
// loopback, ended with the test. Memory is a store in the process itself.
package kvtest
