package levels

import (
	"errors"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestParseErrors: a file that cannot be meant is refused at its place.
func TestParseErrors(t *testing.T) {
	const head = "model: m\n"
	for name, c := range map[string]struct{ src, want string }{
		"nothing": {head, "m.yaml:1:1: the model has neither limits nor cells"},
		"zero": {
			head + "limits: [{of: ops, rate: 0}]\n",
			"m.yaml:2:26: limits.0.rate: 0 is too small; use a number greater than 0"},
		"negative": {
			head + "limits: [{of: ops, rate: -3}]\n",
			"m.yaml:2:26: limits.0.rate: -3 is too small"},
		"zero bytes": {
			head + "limits: [{of: bytes, rate: 0MiB}]\n",
			"m.yaml:2:28: limits.0.rate: 0MiB is too small; use more than 0"},
		"NaN": {
			head + "limits: [{of: ops, rate: .nan}]\n",
			`m.yaml:2:26: limits.0.rate: ".nan" is not a plain number`},
		"empty rate": {
			head + "limits: [{of: ops, rate: {}}]\n",
			"m.yaml:2:26: limits.0.rate: it must have one form"},
		"no rate": {
			head + "limits: [{of: ops}]\n",
			`m.yaml:2:10: limits.0: the key "rate" is missing`},
		"a list": {
			head + "limits: [{of: ops, rate: [3]}]\n",
			"m.yaml:2:26: limits.0.rate: must be a group of keys, not a list; use a number greater than 0, or text that is " +
				"not empty, or the keys base, by, choices, max, min, per_gib, per_op, steps, values"},
		"unit": {
			head + "limits: [{of: bytes, rate: 60MiBs}]\n",
			`m.yaml:2:28: limits.0.rate: "60MiBs" is not a level of bytes; use a number, or one with a unit: 60MiB/s, 128MiB`},
		"bytes of ops": {
			head + "limits: [{of: ops, rate: 60MiB/s}]\n",
			`m.yaml:2:26: limits.0.rate: "60MiB/s" is not a level of ops; use a number, or one with a unit: 300op/s`},
		"key": {
			head + "limits: [{of: ops, rate: {per_gb: 3}}]\n",
			`m.yaml:2:27: limits.0.rate.per_gb: unknown key "per_gb"; did you mean "per_gib"?`},
		"quality": {
			head + "limits: [{of: iops, rate: 3}]\n",
			`m.yaml:2:15: limits.0.of: unknown value "iops"; did you mean "ops"?`},
		"scope": {
			head + "scope: node\nlimits: [{of: ops, rate: 3, scope: node}]\n",
			"m.yaml:3:36: limits.0.scope: only volumes share a limit of their node; remove it"},
		"way": {
			head + "limits: [{of: ops, ways: [reads], rate: 3}]\n",
			`m.yaml:2:27: limits.0.ways.0: unknown value "reads"; did you mean "read"?`},
		"ways": {
			head + "limits: [{of: ops, ways: both, rate: 3}]\n",
			`m.yaml:2:26: limits.0.ways: unknown value "both"; use each`},
		"no input": {
			head + "limits: [{of: ops, rate: {per_gib: 3}}]\n",
			`m.yaml:2:36: limits.0.rate.per_gib: the model has no input "gib"; add it to the inputs: gib: {}`},
		"unused": {
			head + "inputs: {gib: {}}\nlimits: [{of: ops, rate: 3}]\n",
			"m.yaml:2:15: inputs.gib: no limit uses it; remove it"},
		"sum": {
			head + "limits:\n- of: ops\n  rate:\n    values: {50: 0.25, 100: 0.7}\n",
			"m.yaml:5:13: limits.0.rate.values: the shares sum to 0.95; they must sum to 1"},
		"share": {
			head + "limits: [{of: ops, rate: {values: {50: -0.5, 100: 1.5}}}]\n",
			"m.yaml:2:40: limits.0.rate.values.50: the share -0.5 is too small"},
		"level": {
			head + "limits: [{of: ops, rate: {values: {-50: 0.5, 100: 0.5}}}]\n",
			"m.yaml:2:41: limits.0.rate.values.-50: -50 is too small; use more than 0"},
		"two forms": {
			head + "limits: [{of: ops, rate: {base: 3, values: {5: 1}}}]\n",
			"m.yaml:2:26: limits.0.rate: it must have one form"},
		"min above max": {
			head + "inputs: {gib: {}}\nlimits: [{of: ops, rate: {per_gib: 3, min: 10, max: 5}}]\n",
			"m.yaml:3:53: limits.0.rate.max: it is less than min"},
		"step": {
			head + "inputs: {gib: {}}\nlimits: [{of: ops, rate: {steps: {a: 3}}}]\n",
			`m.yaml:3:38: limits.0.rate.steps.a: "a" is not the end of a step`},
		"choices": {
			head + "inputs: {type: {}}\nlimits:\n- {of: ops, rate: {by: type, choices: {a.b: 1, c: 2}}}\n- {of: bytes, " +
				"rate: {by: type, choices: {c: 2}}}\n",
			"m.yaml:5:21: limits.1.rate: choices lacks a.b, which another limit has"},
		"choice": {
			head + "inputs: {type: {}}\nlimits: [{of: ops, rate: {by: type, choices: {a.b: 3MiB}}}]\n",
			`m.yaml:3:52: limits.0.rate.choices.a.b: "3MiB" is not a level of ops`},
		"bucket": {
			head + "limits: [{of: ops, rate: 3, bucket: {burst: 5}}]\n",
			"m.yaml:2:37: limits.0.bucket: it must have either size or for"},
		"start": {
			head + "limits: [{of: ops, rate: 3, bucket: {burst: 5, for: 1m, start: 2}}]\n",
			"m.yaml:2:64: limits.0.bucket.start: it is no share of the bucket"},
		"twice": {
			head + "limits: [{of: ops, rate: 3}, {of: ops, ways: [write], rate: 3}]\n",
			"m.yaml:2:30: limits.1: another limit counts the same: ops.write; give each a name"},
		"cpu": {
			head + "limits: [{of: cpu, rate: 3}]\n",
			"m.yaml:2:15: limits.0.of: a model of service volume has no limit of cpu"},
		"input's unit": {
			head + "inputs: {t: {unit: MiB, min: 3}}\nlimits: [{of: bytes, rate: t}]\n",
			"m.yaml:2:30: inputs.t.min: 3 has no unit; write 3MiB"},
		"unit of input": {
			head + "inputs: {t: {unit: mib}}\nlimits: [{of: bytes, rate: t}]\n",
			`m.yaml:2:20: inputs.t.unit: "mib" is not a unit of bytes`},
		"input of bytes": {
			head + "inputs: {t: {}}\nlimits: [{of: bytes, rate: t}]\n",
			"m.yaml:3:28: limits.0.rate: the input t does not count bytes"},
		"circle": {
			head + "inputs: {iops: {max: {per_op: 3}}}\nlimits: [{of: ops, rate: iops}]\n",
			"m.yaml:2:22: inputs.iops.max: the bound depends on the input itself"},
		"cell": {
			head + "cells: [{size: 4KiB, reads: 100, ops: [3]}, {size: 4KiB, reads: 100, ops: [4]}]\n",
			"m.yaml:2:45: cells.1: another cell has the same size and reads"},
		"cell of zero": {
			head + "cells: [{size: 4KiB, reads: 100, ops: [0]}]\n",
			"m.yaml:2:40: cells.0.ops.0: 0 is too small"},
		"kept": {
			head + "limits: [{of: ops, rate: 3}]\nkept: {share: 99, of: 0.9}\n",
			"m.yaml:3:15: kept.share: 99 is too large"},
		"yaml": {head + "limits: [\n", "m.yaml:"},
	} {
		_, err := Parse("m.yaml", []byte(c.src))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}
