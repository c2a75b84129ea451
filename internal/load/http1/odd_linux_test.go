package http1

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/oddanswers"
)

// TestOddAnswers: what is legal is taken, over one connection if the server leaves
// it open; what is not is refused for the right reason.
func TestOddAnswers(t *testing.T) {
	for _, a := range append(oddanswers.Legal(), oddanswers.Illegal()...) {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			requests := get("http://" + oddanswers.Serve(t, a, nil))
			requests[0].Expect, _ = load.ParseStatuses("200-399")
			if a.Head {
				requests[0].Method = http.MethodHead
			}
			d := open(t, Config{Requests: requests, Loops: 1, Connections: 1, MaxBody: oddanswers.MaxBody})
			got := run(t.Context(), t, d, load.Run{Plan: hold(100, 50*time.Millisecond), Drain: time.Minute})
			switch said := fmt.Sprint(got.usage.Examples); {
			case a.Wrong != "":
				if got.Errors[load.ErrProtocol] != 5 || !strings.Contains(said, a.Wrong) {
					t.Errorf("%+v, for example %v, want %q", got.Counts, said, a.Wrong)
				}
			case got.OK != 5, a.Closes != (got.usage.Opened > 1):
				t.Errorf("%d connections: %+v, for example %v", got.usage.Opened, got.Counts, said)
			}
		})
	}
}
