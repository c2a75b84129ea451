package pressure

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/telemetry"
)

// TestAnswer: the sentence says why money helps, and how far, as the advice does.
func TestAnswer(t *testing.T) {
	const (
		lasting = "limits: [{of: ops, rate: 100, bucket: {size: 100000, burst: 400}}]"
		bound   = "limits: [{of: ops, rate: 1000}]"
		remote  = "inputs: {iops: {}}\nlimits:\n- {of: ops, rate: iops}\n- {of: bytes, rate: 100000MiB}"
		most    = "inputs: {iops: {max: 9000}}\nlimits:\n- {of: ops, rate: iops}\n- {of: bytes, rate: 1000MiB}"
		far     = "inputs: {iops: {}}\nlimits:\n- {of: ops, rate: iops}\n- {of: bytes, rate: 500MiB}"
		each    = "inputs: {iops: {}}\nlimits: [{of: ops, ways: each, rate: iops}]"
		machine = "inputs: {iops: {}}\nlimits:\n- {of: ops, rate: iops}\n" +
			"- {of: bytes, name: machine, scope: node, rate: 60MiB}"
	)
	at := func(service string, size, ops float64) telemetry.Recording {
		return recordedOf("db-1", service, 1, reads(size, slicesOf(ops, 120)...))
	}
	for name, tt := range map[string]struct {
		form, credits string
		of            []telemetry.Recording
		want          string
	}{
		"credits do not last": {lasting, "full", []telemetry.Recording{at("v", 4096, 240)},
			"The credits of v do not last: its mean load of operations is 240 % of the rate at which they fill; its model " +
				"has no higher level: more takes another size or kind of service. No period had a pressure above 95.0 % up to " +
				"now."},
		"credits just last": {lasting, "full", []telemetry.Recording{at("v", 4096, 95)},
			"The credits of v just last: its mean load of operations is 95 % of the rate at which they fill; its model " +
				"has no higher level: more takes another size or kind of service. No period had a pressure above 95.0 % up to " +
				"now."},
		"close": {bound, "", []telemetry.Recording{at("v", 4096, 930)},
			"No period had a pressure above 95.0 %. The closest is v with 93 % of its operations (99th percentile); its means " +
				"of 1.00 s may hide up to 97.9 % of the time at the limit. That is close enough to hold it " +
				"back: its model has no higher level: more takes another size or kind of service."},
		"no near limit": {remote, "", []telemetry.Recording{at("v", 4096, 300)},
			"v was at its operations limit for 100 % of the time; raise it as far as needed; its model has room for " +
				"more than 100 times the throughput."},
		"the next limit is far": {far, "", []telemetry.Recording{at("v", 4096, 300)},
			"v was at its operations limit for 100 % of the time; raise it as far as needed; the next known limit (bytes) " +
				"has room for more than 100 times the throughput."},
		"the model's most": {most, "", []telemetry.Recording{at("v", 4096, 300)},
			"v was at its operations limit for 100 % of the time; raise it as far as needed, up to 9000 op/s; more takes " +
				"another size or kind of service."},
		"unknown credits": {lasting, "", []telemetry.Recording{at("v", 4096, 240)},
			"No period had a pressure above 95.0 %. The closest is v with 60 % of its operations (99th percentile); its " +
				"means of 1.00 s and its unknown credits may hide up to 100 % of the time at the limit."},
		"not used": {bound, "", []telemetry.Recording{at("v", 4096, 0)}, "No service was used in the time of the data."},
		"a volume called data": {each, "", []telemetry.Recording{at("v", 4096, 300), at("data", 4096, 150)},
			"v was at its read operations limit for 100 % of the time; raise it to 600 op/s; more is of no use, because " +
				"the read operations of volume data are at 100 % then."},
		"a limit with a name": {machine, "", []telemetry.Recording{at("v", 65536, 300), at("data", 65536, 60)},
			"v was at its operations limit for 100 % of the time; raise it to 800 op/s; more is of no use, because " +
				"the machine bytes of db-1 are at 100 % then."},
	} {
		t.Run(name, func(t *testing.T) {
			p := params(nil, file("", "m", tt.form))
			if p.Credits = tt.credits; strings.Contains(tt.form, "iops") {
				p.Set = map[string]string{"iops": "300"}
			}
			if got := resultOf(t, p, tt.of...).document().Answer; string(got) != tt.want {
				t.Errorf("answer %q, want %q", got, tt.want)
			}
		})
	}
}

// TestCreditsUsedUp: a bucket that is empty does not run out.
func TestCreditsUsedUp(t *testing.T) {
	p := params(nil, file("", "m", bucketForm))
	for credits, want := range map[string]string{
		"empty": "v: the credits of the operations are used up.",
		"full": "v: the credits of the operations run out 19.7 s after the end of the data, if the load of the last hour " +
			"goes on.",
	} {
		p.Credits = credits
		r := resultOf(t, p, recordedOf("db-1", "v", 1, reads(4096, slicesOf(200, 30)...)))
		if got := strings.Join(r.credits(), " "); got != want {
			t.Errorf("%s: %q, want %q", credits, got, want)
		}
	}
}
