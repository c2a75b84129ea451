package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What takes long is told: from the third second on where a line can be redrawn,
// and every half minute elsewhere; what is over leaves no line.
func TestLongWorkIsTold(t *testing.T) {
	for _, live := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := &common{env: Env{Stderr: &out, Live: live, LiveWidth: 80}}
			w := c.watchLong(t.Context(), "reading a.csv")
			time.Sleep(watchFrom - liveTick/2) //nolint:forbidigo // the bubble's own time
			if out.Len() > 0 {
				t.Errorf("live %v: it said %q at once", live, out.String())
			}
			w.say("analysing")
			w.progress(300, 5000)
			w.progress(299, 5000)                   // the slower of two goroutines
			time.Sleep(2*plainTick + 3*time.Second) //nolint:forbidigo // as above
			synctest.Wait()
			const want = "[=                   ] 300/5000"
			if got := strings.Count(out.String(), want); live && got < 200 || !live && got != 2 {
				t.Errorf("live %v: in a minute it said %q %d times: %.200q", live, want, got, out.String())
			}
			w.close()
			w.close()
			if live && !strings.HasSuffix(out.String(), "\r\x1b[K") {
				t.Errorf("the line stays: %q", out.String()[out.Len()-100:])
			}
		})
	}
}
