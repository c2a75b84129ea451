//go:build !linux

package expression

func limitData(uint64) (restore func()) { return func() {} }
