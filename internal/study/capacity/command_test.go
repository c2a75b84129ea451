package capacity

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// raw are flags that were given, by their keys.
func raw(t *testing.T, flags map[string]any) map[string]json.RawMessage {
	t.Helper()
	out := make(map[string]json.RawMessage)
	for key, v := range flags {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out[key] = b
	}
	return out
}

// TestExperiment: the file that the command stands for has what was given, where
// a user would have written it, and nothing else.
func TestExperiment(t *testing.T) {
	type object = map[string]any
	local := func(n float64) object { return object{"local": object{"nodes": n}} }
	for _, c := range []struct {
		name, target string
		given        map[string]any
		want         map[string]any
	}{
		{"plain", "http://10.0.0.7:8080/", object{"sla": "p90=150ms", "start": "200op/s"}, object{
			"name": "capacity of 10.0.0.7:8080", "fleet": local(1), "study": object{"kind": "capacity", "sla": "p90=150ms", "start": "200op/s"},
			"workloads": []any{object{"kind": "load", "name": "capacity", "target": "http://10.0.0.7:8080/"}},
		}},
		{"a store", "cassandra://10.0.0.8/", object{"sla": "p90=150ms", "mix": "w3", "records": 1e6, "generators": 3, "fail_below": "2kop/s"}, object{
			"name": "capacity of 10.0.0.8, w3", "fleet": local(3), "study": object{"kind": "capacity", "sla": "p90=150ms"},
			"workloads": []any{object{"kind": "load", "name": "capacity", "target": "cassandra://10.0.0.8/",
				"data": object{"workload": "w3", "records": 1e6}}},
		}},
		{"agents", "https://shop.test/", object{"sla": "max=1s", "agents": object{"role": "generator"}, "expect": "2xx"}, object{
			"name": "capacity of shop.test", "fleet": object{"agents": object{"labels": object{"role": "generator"}}}, "study": object{"kind": "capacity", "sla": "max=1s"},
			"workloads": []any{object{"kind": "load", "name": "capacity", "target": "https://shop.test/",
				"requests": []any{object{"name": "get", "expect": "2xx"}}}},
		}},
		{"a body, a form unless it says otherwise", "http://x/", object{"sla": "max=1s", "body": []byte("a=1&b=2")}, object{
			"name": "capacity of x", "fleet": local(1), "study": object{"kind": "capacity", "sla": "max=1s"},
			"workloads": []any{object{"kind": "load", "name": "capacity", "target": "http://x/",
				"requests": []any{object{"name": "post", "method": "POST", "body": "a=1&b=2", "headers": object{"Content-Type": "application/x-www-form-urlencoded"}}}}},
		}},
		{"bytes with a method", "http://x/", object{"sla": "max=1s", "body": []byte("\x00\xff"), "method": "PUT", "headers": object{"content-type": "application/octet-stream"}}, object{
			"name": "capacity of x", "fleet": local(1), "study": object{"kind": "capacity", "sla": "max=1s"},
			"workloads": []any{object{"kind": "load", "name": "capacity", "target": "http://x/", "headers": object{"content-type": "application/octet-stream"},
				"requests": []any{object{"name": "put", "method": "PUT", "body_base64": "AP8="}}}},
		}},
	} {
		file, err := newFlags().Experiment(c.target, raw(t, c.given))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got map[string]any
		if err := json.Unmarshal(file, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: the file differs (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestExperimentRefuses: what would be of no effect, or would fail only after
// hours of measurement.
func TestExperimentRefuses(t *testing.T) {
	for _, c := range []struct {
		target string
		given  map[string]any
		says   string
	}{
		{"10.0.0.7", map[string]any{}, "must be the URL of a server"},
		{"http://a.test/", map[string]any{"sla": nil}, "needs an SLA"},
		{"http://a.test/", map[string]any{"generators": 2, "agents": map[string]any{}}, "one of the two"},
		{"redis://a.test/", map[string]any{"expect": "2xx"}, "http://"},
		{"http://a.test/", map[string]any{"expect": "999"}, "statuses"},
		{"http://a.test/", map[string]any{"fail_below": "2kop/s", "max": "1kop/s"}, "allow a larger load"},
		{"http://a.test/", map[string]any{"mix": 3}, "Mix"},
	} {
		if _, ok := c.given["sla"]; ok {
			delete(c.given, "sla")
		} else {
			c.given["sla"] = "p90=150ms"
		}
		if file, err := newFlags().Experiment(c.target, raw(t, c.given)); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Experiment(%s, %v) = %s, %v; want model.ErrUsage and %q", c.target, c.given, file, err, c.says)
		}
	}
}
