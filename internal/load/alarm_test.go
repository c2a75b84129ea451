package load

import (
	"testing"
	"time"
)

// alarms are all there are on this platform.
var alarms = map[string]func() (alarm, error){"exact": newAlarm, "runtime's": newTimerAlarm}

func eachAlarm(t *testing.T, test func(*testing.T, alarm)) {
	for name, open := range alarms {
		t.Run(name, func(t *testing.T) {
			a, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer a.close()
			test(t, a)
		})
	}
}

// TestAlarmSleeps for as long as it should; it may return early for no reason,
// but not as a rule.
func TestAlarmSleeps(t *testing.T) {
	eachAlarm(t, func(t *testing.T, a alarm) {
		const d, tries = 2 * time.Millisecond, 20
		early := 0
		for range tries {
			begin := time.Now()
			if a.sleep(d); time.Since(begin) < d {
				early++
			}
		}
		if early > tries/2 {
			t.Errorf("%d of %d sleeps of %v ended early", early, tries, d)
		}
	})
}

// TestAlarmWakes: a wake ends the sleep of now, or the next one, and no other.
func TestAlarmWakes(t *testing.T) {
	eachAlarm(t, func(t *testing.T, a alarm) {
		begin := time.Now()
		a.wake()
		a.wake()
		a.sleep(time.Hour)
		go a.wake()
		a.sleep(time.Hour)
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("woken after %v", took)
		}
		begin = time.Now()
		for range 3 { // one may end early for no reason
			a.sleep(10 * time.Millisecond)
		}
		if took := time.Since(begin); took < 10*time.Millisecond {
			t.Errorf("a wake from before ends sleeps again: three took %v", took)
		}
	})
}

// TestAlarmAfterClose: who does not know that a run is over may still call.
func TestAlarmAfterClose(t *testing.T) {
	for name, open := range alarms {
		a, err := open()
		if err != nil {
			t.Fatal(name, err)
		}
		a.sleep(-time.Second)
		a.close()
		a.wake()
	}
}

// BenchmarkAlarm reports how late sleeps of 100 µs end.
func BenchmarkAlarm(b *testing.B) {
	for name, open := range alarms {
		b.Run(name, func(b *testing.B) {
			a, err := open()
			if err != nil {
				b.Fatal(err)
			}
			defer a.close()
			late := newHistogram()
			for b.Loop() {
				begin := time.Now()
				a.sleep(100 * time.Microsecond)
				_ = late.RecordValue(max(0, int64(time.Since(begin)-100*time.Microsecond)))
			}
			reportPercentiles(b, "late", late)
		})
	}
}
