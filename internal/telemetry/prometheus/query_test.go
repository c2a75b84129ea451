package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/test/servers"
)

// recorded is a Prometheus that gives one answer, and knows no boot times.
func recorded(t *testing.T, code int, kind, body string, seen func(*http.Request)) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			seen(r)
		}
		if strings.Contains(r.URL.RawQuery, bootTime) {
			kind, code, body = asJSON, http.StatusOK, answer("")
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, body) // the client may be gone
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const asJSON = "application/json; charset=utf-8"

func answer(series string) string {
	return `{"status":"success","data":{"resultType":"matrix","result":[` + series + `]}}`
}

// TestAnswers: what is not the whole answer of a Prometheus is refused in words that help.
func TestAnswers(t *testing.T) {
	sample := `{"metric":{"__name__":"node_disk_read_bytes_total","device":"sda","instance":"a"},"values":[[1000,"1"],[1015,%s]]}`
	for _, c := range []struct {
		name    string
		code    int
		kind    string
		body    string
		wantErr error
		says    string
	}{
		{"a web page", 200, "text/html", "<html>Grafana</html>", model.ErrUsage, "(200 OK, text/html); give the URL below which api/v1/query is"},
		{"not found", 404, "text/plain", "404 page not found", model.ErrUsage, "404 Not Found"},
		{"a gateway", 502, "text/html", "", model.ErrUnavailable, "502"},
		{"no rights", 401, "text/plain", "", model.ErrDenied, "a token"},
		{"a bad query", 400, asJSON, `{"status":"error","errorType":"bad_data","error":"parse error"}`, model.ErrUsage, "check match: parse error"},
		{"too long", 503, asJSON, `{"status":"error","errorType":"timeout","error":"query timed out"}`, model.ErrUnavailable, "query timed out"},
		{"a part", 200, asJSON, `{"status":"success","warnings":["store db2 is down"],"data":{"resultType":"matrix"}}`, model.ErrUnavailable, "store db2 is down"},
		{"cut off", 200, asJSON, `{"status":"success","data":{"res`, model.ErrUnavailable, "cannot be read"},
		{"a vector", 200, asJSON, `{"status":"success","data":{"resultType":"vector","result":[]}}`, model.ErrUsage, `a "vector"`},
		{"no series", 200, asJSON, answer(""), model.ErrNotFound, "no two samples"},
		{"one sample", 200, asJSON, answer(`{"metric":{"__name__":"node_disk_read_bytes_total","device":"sda","instance":"a"},"values":[[1000,"1"]]}`), model.ErrNotFound, "no two samples"},
		{"a word for a value", 200, asJSON, answer(fmt.Sprintf(sample, `"one"`)), model.ErrUnavailable, `"one" of a sample`},
		{"a bare value", 200, asJSON, answer(fmt.Sprintf(sample, `1`)), model.ErrUnavailable, "cannot be read"},
		{"two jobs", 200, asJSON, answer(strings.Replace(fmt.Sprintf(sample, `"2"`), `"instance"`, `"job":"x","instance"`, 1) + "," + fmt.Sprintf(sample, `"2"`)),
			model.ErrUsage, "node_disk_read_bytes_total of a sda"},
	} {
		spec := Spec{URL: recorded(t, c.code, c.kind, c.body, nil), From: time.Unix(1000, 0), To: time.Unix(2000, 0), Match: `job="x"`}
		_, err := Read(t.Context(), spec)
		if !errors.Is(err, c.wantErr) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.wantErr, c.says)
		}
	}
}

// TestSpec: what cannot be asked is refused at once, and who does not answer ends it.
func TestSpec(t *testing.T) {
	from, to := time.Unix(1000, 0), time.Unix(2000, 0)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	for _, c := range []struct {
		name    string
		spec    Spec
		wantErr error
	}{
		{"no URL", Spec{From: from, To: to}, model.ErrUsage},
		{"no scheme", Spec{URL: "prometheus:9090", From: from, To: to}, model.ErrUsage},
		{"another scheme", Spec{URL: "ftp://prometheus", From: from, To: to}, model.ErrUsage},
		{"backwards", Spec{URL: slow.URL, From: to, To: from}, model.ErrUsage},
		{"a step below 0", Spec{URL: slow.URL, From: from, To: to, Step: -1}, model.ErrUsage},
		{"refused", Spec{URL: "http://" + servers.FreeAddress(t), From: from, To: to}, model.ErrUnavailable},
		{"silent", Spec{URL: slow.URL, From: from, To: to, patience: 50 * time.Millisecond}, model.ErrUnavailable},
	} {
		if _, err := Read(t.Context(), c.spec); !errors.Is(err, c.wantErr) {
			t.Errorf("%s: %v, want %v", c.name, err, c.wantErr)
		}
	}
}

// TestRights: password and token reach the server, and no message has them.
func TestRights(t *testing.T) {
	for _, c := range []struct{ token, want string }{{"", "Basic dTpzZWNyZXQ="}, {"t0ken", "Bearer t0ken"}} {
		got := ""
		url := recorded(t, 403, "text/plain", "", func(r *http.Request) { got = r.Header.Get("Authorization") })
		_, err := Read(t.Context(), Spec{URL: strings.Replace(url, "http://", "http://u:secret@", 1), Token: c.token, From: time.Unix(0, 0), To: time.Unix(1, 0)})
		if got != c.want || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("the server saw %q, want %q; %v", got, c.want, err)
		}
	}
}

// TestMissing: a sum over cores lacks a core that has no sample, but not one that has come or
// gone; several interfaces are not summed.
func TestMissing(t *testing.T) {
	one := func(name, labels, values string) string {
		return fmt.Sprintf(`{"metric":{"__name__":%q,"instance":"a",%s},"values":[%s]}`, name, labels, values)
	}
	body := answer(strings.Join([]string{
		one("node_cpu_seconds_total", `"cpu":"0","mode":"user"`, `[1000,"10"],[1010,"15"],[1020,"20"],[1030,"25"],[1040,"30"]`),
		one("node_cpu_seconds_total", `"cpu":"1","mode":"user"`, `[1000,"10"],[1010,"12"],[1020,"NaN"]`),
		one("node_network_receive_bytes_total", `"device":"eth0"`, `[1000,"0"],[1010,"10"]`),
		one("node_network_receive_bytes_total", `"device":"enP1s2"`, `[1000,"0"],[1010,"20"]`),
		one("node_disk_read_bytes_total", `"device":"sda"`, `[1000,"50"],[1010,"20"],[1020,"30"]`),
	}, ","))
	got, err := Read(t.Context(), Spec{URL: recorded(t, 200, asJSON, body, nil), From: time.Unix(1000, 0), To: time.Unix(2000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	recording := func(service string, begin, end []float64, m telemetry.Measure, rates telemetry.Numbers) telemetry.Recording {
		return telemetry.Recording{Source: "prometheus", Node: "a", Service: service, Begin: begin, End: end, Rates: map[telemetry.Measure]telemetry.Numbers{m: rates}}
	}
	want := []telemetry.Recording{
		recording("cpu", []float64{1000, 1010, 1020, 1030}, []float64{1010, 1020, 1030, 1040}, telemetry.CPU, telemetry.Numbers{.7, nan, nan, .5}),
		recording("network enP1s2", []float64{1000}, []float64{1010}, telemetry.ReceivedBytes, telemetry.Numbers{2}),
		recording("network eth0", []float64{1000}, []float64{1010}, telemetry.ReceivedBytes, telemetry.Numbers{1}),
		recording("sda", []float64{1010}, []float64{1020}, telemetry.ReadBytes, telemetry.Numbers{1}),
	}
	want[3].Remarks = []telemetry.Remark{{Code: "reset", Count: 1, At: 1010}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzSeries: whatever a server sends, a series has as many times as values, or is refused.
func FuzzSeries(f *testing.F) {
	f.Add(`{"metric":{"a":"b"},"values":[[1435781430.781,"1"],[2,"NaN"],[3,"+Inf"]]}`)
	f.Add(`{"values":[[1,2,3],["x"],[]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s series
		if err := json.Unmarshal([]byte(text), &s); err == nil && len(s.times) != len(s.values) {
			t.Errorf("%d times, %d values", len(s.times), len(s.values))
		}
	})
}
