package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
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

// recorded is a Prometheus that gives one answer.
func recorded(t *testing.T, code int, kind, body string, seen func(*http.Request)) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			seen(r)
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, body) // the client may be gone
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const asJSON = "application/json; charset=utf-8"

func matrix(series string) string {
	return `{"status":"success","data":{"resultType":"matrix","result":[` + series + `]}}`
}

// TestAnswers: what is not the whole answer of a Prometheus is refused in words that help.
func TestAnswers(t *testing.T) {
	const metric = `{"metric":{"__name__":"node_disk_read_bytes_total","device":"sda","instance":"a"},`
	sample := metric + `"values":[[1000,"1"],[1015,%s]]}`
	two := fmt.Sprintf(sample, `"2"`)
	for _, c := range []struct {
		name    string
		code    int
		kind    string
		body    string
		wantErr error
		says    string
	}{
		{"a web page", 200, "text/html", "<html>Grafana</html>",
			model.ErrUsage, "(200 OK) cannot be used: this is no JSON of Prometheus"},
		{"not found", 404, "text/plain", "404 page not found", model.ErrUsage, "404 Not Found"},
		{"a gateway", 502, "text/html", "", model.ErrUnavailable, "502"},
		{"no rights", 401, "text/plain", "", model.ErrDenied, "a token"},
		{"a bad query", 400, asJSON, `{"status":"error","errorType":"bad_data","error":"parse error"}`,
			model.ErrUsage, "check match: parse error"},
		{"too long", 503, asJSON, `{"status":"error","errorType":"timeout","error":"query timed out"}`,
			model.ErrUnavailable, "query timed out"},
		{"a part", 200, asJSON, `{"status":"success","warnings":["store db2 is down"],"data":{"resultType":"matrix"}}`,
			model.ErrUnavailable, "store db2 is down"},
		{"cut off", 200, asJSON, `{"status":"success","data":{"res`, model.ErrUsage, "unexpected EOF"},
		{"a vector", 200, asJSON, `{"status":"success","data":{"resultType":"vector","result":[]}}`,
			model.ErrUsage, `a "vector"`},
		{"no series", 200, asJSON, matrix(""), model.ErrNotFound, "no two samples"},
		{"one sample", 200, asJSON, matrix(metric + `"values":[[1000,"1"]]}`), model.ErrNotFound, "no two samples"},
		{"a word for a value", 200, asJSON, matrix(fmt.Sprintf(sample, `"one"`)), model.ErrUsage, `invalid number`},
		{"no value", 200, asJSON, matrix(fmt.Sprintf(sample, `null`)),
			model.ErrUnavailable, "node_disk_read_bytes_total of a sda"},
		{"two jobs", 200, asJSON, matrix(strings.Replace(two, `"instance"`, `"job":"x","instance"`, 1) + "," + two),
			model.ErrUsage, "node_disk_read_bytes_total of a sda"},
	} {
		spec := Spec{URL: recorded(t, c.code, c.kind, c.body, nil), Match: `job="x"`,
			From: time.Unix(1000, 0), To: time.Unix(2000, 0)}
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
		{"another scheme", Spec{URL: "ftp://prometheus", From: from, To: to}, model.ErrUnavailable},
		{"backwards", Spec{URL: slow.URL, From: to, To: from}, model.ErrNotFound},
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
		_, err := Read(t.Context(), Spec{URL: strings.Replace(url, "http://", "http://u:secret@", 1), Token: c.token,
			From: time.Unix(0, 0), To: time.Unix(1, 0)})
		if got != c.want || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("the server saw %q, want %q; %v", got, c.want, err)
		}
	}
}

// TestSums: no sum lacks a core, interfaces that show the same bytes count once, and a period in
// which a counter fell is left out.
func TestSums(t *testing.T) {
	one := func(name, labels, values string) string {
		return fmt.Sprintf(`{"metric":{"__name__":%q,"instance":"a",%s},"values":[%s]}`, name, labels, values)
	}
	body := matrix(strings.Join([]string{
		one("node_cpu_seconds_total", `"cpu":"0","mode":"user"`,
			`[1000,"10"],[1010,"15"],[1020,"20"],[1030,"25"],[1040,"30"]`),
		one("node_cpu_seconds_total", `"cpu":"1","mode":"user"`, `[1000,"10"],[1010,"12"],[1020,"13"]`),
		one("node_network_receive_bytes_total", `"device":"eth0"`, `[1000,"0"],[1010,"10"]`),
		one("node_network_receive_bytes_total", `"device":"ens5"`, `[1000,"0"],[1010,"30"]`),
		one("node_network_receive_bytes_total", `"device":"enP1s2"`, `[1000,"0"],[1010,"10"]`),
		one("node_disk_read_bytes_total", `"device":"sda"`, `[1000,"50"],[1010,"20"],[1020,"30"]`),
	}, ","))
	got, err := Read(t.Context(), Spec{URL: recorded(t, 200, asJSON, body, nil),
		From: time.Unix(1000, 0), To: time.Unix(2000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	type numbers = telemetry.Numbers
	recording := func(service string, begin, end numbers, m telemetry.Measure, rates numbers) telemetry.Recording {
		return telemetry.Recording{Source: "prometheus", Node: "a", Service: service, Begin: begin, End: end,
			Rates: map[telemetry.Measure]numbers{m: rates}}
	}
	want := []telemetry.Recording{
		recording("cpu", numbers{1000, 1010}, numbers{1010, 1020}, telemetry.CPU, numbers{.7, .6}),
		recording("network", numbers{1000}, numbers{1010}, telemetry.ReceivedBytes, numbers{4}),
		recording("sda", numbers{1010}, numbers{1020}, telemetry.ReadBytes, numbers{1}),
	}
	want[0].Remarks = []telemetry.Remark{{Code: telemetry.Gap, Count: 2, At: 1030}}
	want[2].Remarks = []telemetry.Remark{{Code: telemetry.Reset, Count: 1, At: 1010}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzAnswer: whatever a server sends, it is refused, or each measure has a value a period.
func FuzzAnswer(f *testing.F) {
	f.Add(matrix(`{"metric":{"__name__":"node_cpu_seconds_total"},"values":[[1435781430.781,"1"],[2,"3e300"],[3,"-1"]]}`))
	f.Add(matrix(`{"metric":{"__name__":"node_disk_read_bytes_total","device":"a"},` +
		`"values":[[1,"2"],[2,null],[1e999,"x"]]}`))
	f.Fuzz(func(t *testing.T, text string) {
		var a answer
		groups := make(map[[2]string]group)
		if json.Unmarshal([]byte(text), &a) != nil || add(groups, a.Data.Result, 0) != nil {
			return
		}
		for of, g := range groups {
			r := g.recording(of[1])
			for m, values := range r.Rates {
				if len(values) != len(r.Begin) || len(values) != len(r.End) {
					t.Errorf("%s: %d values in %d periods", m, len(values), len(r.Begin))
				}
			}
		}
	})
}
