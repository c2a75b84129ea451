//go:build !linux

package load

func newAlarm() (alarm, error) { return newTimerAlarm() }
