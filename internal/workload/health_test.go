package workload

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestHealthyByStatus: an answer from 200 to 399 is healthy, wherever a redirect leads to.
func TestHealthyByStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/nothing", http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusSeeOther)
		case "/ill":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/": "", "/away": "", "/circle": "", "/ill": "answers 503"} {
		c := model.Check{Service: "web", HTTP: server.URL + path, Within: 200 * time.Millisecond}
		if want == "" {
			c.Within = 10 * time.Second
		}
		err := Healthy(t.Context(), c, time.Now(), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
