package httpstd_test

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpstd"
	"github.com/scalebench/scalebench/test/oddanswers"
)

// TestOddAnswers: what is legal is taken over TLS, again and again over one
// connection if the server leaves it open; what is not is refused for the right
// reason.
func TestOddAnswers(t *testing.T) {
	certificate := serve(t, true, func(http.ResponseWriter, *http.Request) {}).TLS.Certificates
	for _, a := range append(oddanswers.Legal(), oddanswers.Illegal()...) {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			requests := get("https://" + oddanswers.Serve(t, a, &tls.Config{Certificates: certificate}))
			requests[0].Expect, _ = load.ParseStatuses("200-399")
			if a.Head {
				requests[0].Method = http.MethodHead
			}
			target := newTarget(t, httpstd.Config{Requests: requests, Insecure: true, MaxBody: oddanswers.MaxBody})
			client := open(t, target)
			for i := range 3 {
				err := client.Do(soon(t), 0)
				alive := client.(load.Perishable).Alive()
				if a.Wrong != "" {
					if err == nil || load.KindOf(err) != load.ErrProtocol || !strings.Contains(err.Error(), a.Wrong) {
						t.Errorf("Do() = %v, want %q", err, a.Wrong)
					}
					return
				}
				if err != nil || alive == a.Closes {
					t.Fatalf("Do() = %v, number %d; alive %v", err, i, alive)
				}
				if a.Closes {
					return
				}
			}
		})
	}
}
