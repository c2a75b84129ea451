package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// ownModels are model files of users, by name.
var ownModels = map[string]string{
	"plain.yaml": "limits:\n- {of: ops, rate: 300}\n- {of: bytes, rate: 60MiB}\n",
	"units.yaml": "limits:\n- {of: ops, unit: 64KiB, rate: 300}\n- {of: bytes, unit: 4KiB, rate: 60MiB}\n",
	"ways.yaml": "limits:\n- {of: ops, ways: each, rate: 200}\n- {of: bytes, ways: [read], rate: 20MiB}\n" +
		"- {of: bytes, ways: [write], rate: 8MiB}\n",
	"bands.yaml": "limits:\n- {of: ops, rate: {values: {200: 0.25, 300: 0.5, 450: 0.25}}}\n" +
		"- {of: bytes, rate: {values: {10MiB: 0.5, 40MiB: 0.5}}}\n",
	"kept.yaml": "limits: [{of: ops, rate: 300}]\nkept: {share: 0.99, of: 0.9}\n",
	"cells.yaml": "cells:\n- {size: 4KiB, reads: 100, ops: [900, 1000, 1100]}\n- {size: 64KiB, reads: 100, " +
		"ops: [300, 320]}\n- {size: 4KiB, reads: 0, ops: [500]}\n- {size: 64KiB, reads: 0, ops: [200]}\n",
	"bucket.yaml": "inputs: {gib: {max: 1000}}\nlimits:\n- {of: ops, rate: {per_gib: 3}, " +
		"bucket: {size: 60000, burst: 400}}\n",
	"filled.yaml": "limits: [{of: bytes, rate: 10MiB, bucket: {for: 10m, burst: 40MiB, fill: 12MiB, start: full}}]\n",
	"node.yaml":   "scope: node\nlimits:\n- {of: ops, rate: 700}\n- {of: bytes, rate: 100MiB}\n",
	"sized.yaml": "inputs: {iops: {max: 900}, throughput: {unit: MiB, max: 200MiB}}\nlimits:\n- {of: ops, rate: iops}\n" +
		"- {of: bytes, rate: throughput}\n",
	"link.yaml":  "service: network\nlimits: [{of: bytes, ways: each, rate: 50MB}]\n",
	"cores.yaml": "service: cpu\nlimits: [{of: cpu, rate: {values: {1.5: 0.5, 2: 0.5}}}]\n",
	"wrong.yaml": "limits:\n- {of: ops, rate: -300}\n",
}

// expecting are parameters with models, each NAME or SERVICE=NAME.
func expecting(options string, models ...string) string {
	chosen := make([]map[string]string, len(models))
	for i, m := range models {
		of, name, ok := strings.Cut(m, "=")
		if !ok {
			of, name = "", m
		}
		chosen[i] = map[string]string{"for": of, "name": name}
		if text := ownModels[name]; text != "" {
			chosen[i]["text"] = "model: " + strings.TrimSuffix(name, ".yaml") + "\n" + text
		}
	}
	list, _ := json.Marshal(chosen) // it is of texts
	out := fmt.Sprintf(`{"models": %s`, list)
	if options != "" {
		out += ", " + options
	}
	return out + "}"
}

// pressureCases are questions which service is at its limit.
func pressureCases(t *testing.T) (out []question) {
	t.Helper()
	add := func(name, params string, sources ...file) {
		out = append(out, question{name: "pressure/" + name, study: "pressure", params: params, files: sources})
	}
	modelPressures(add)
	creditPressures(add)
	nodePressures(add)
	optionPressures(add)
	growthPressures(add)
	dataPressures(add)
	iostatPressures(t, add)
	refusedPressures(add)
	return append(out, runPressures()...)
}

// adding adds a case of some sources.
type adding func(name, params string, sources ...file)

// modelPressures are of single volumes by the models of providers and users.
func modelPressures(add adding) {
	small, large := loadOf(600, "vol-1", 400, 8*kib, .7, clipped), loadOf(601, "vol-1", 300, 512*kib, .5, clipped)
	grows := loadOf(612, "vol-2", 200, 32*kib, .6, steady)
	copy(grows.rates[30:], loadOf(617, "vol-2", 200, 128*kib, .6, steady).rates)
	add("models/gp3", expecting(`"set": {"gib": "100"}`, "aws-gp3"),
		disks(loadOf(602, "vol-1", 2990, 16*kib, .8, clipped)))
	add("models/gp3, raised", expecting(`"set": {"gib": "500", "iops": "6000", "throughput": "400"}`, "aws-gp3"),
		disks(loadOf(603, "vol-1", 1500, 256*kib, .6, phases)))
	add("models/io1, large operations", expecting(`"set": {"gib": "100", "iops": "600"}`, "aws-io1"), disks(large))
	add("models/io2", expecting(`"set": {"gib": "100", "iops": "400"}`, "aws-io2"), disks(small))
	add("models/azure-premium-v2", expecting(`"set": {"gib": "100", "iops": "3000", "throughput": "125"}`,
		"azure-premium-v2"), disks(large))
	add("models/azure-ultra", expecting(`"set": {"gib": "64", "iops": "400", "throughput": "40"}`, "azure-ultra"),
		disks(small))
	add("models/hyperdisk", expecting(`"set": {"iops": "3000", "throughput": "140"}`, "gcp-hyperdisk-balanced"),
		disks(large))
	add("models/lab", expecting(`"set": {"iops": "300", "bandwidth": "20MiB/s"}`, "lab"),
		disks(loadOf(604, "data", 420, 64*kib, .7, clipped)))
	add("models/lab, bandwidth only", expecting(`"set": {"bandwidth": "20MiB/s"}`, "lab"), disks(small))
	add("models/paper", expecting(`"set": {"iops": "300", "type": "m3.medium"}`, "paper-ebs-2015"),
		disks(loadOf(605, "vol-1", 90, 64*kib, .8, clipped), loadOf(606, "vol-2", 300, 64*kib, .8, clipped)))
	add("models/own, units", expecting("", "units.yaml"), disks(loadOf(607, "vol-1", 200, 96*kib, .7, clipped)))
	add("models/own, ways", expecting("", "ways.yaml"), disks(loadOf(608, "vol-1", 300, 64*kib, .6, clipped)))
	add("models/own, distribution", expecting("", "bands.yaml"), disks(loadOf(609, "vol-1", 330, 64*kib, .6, growing)))
	add("models/own, kept", expecting("", "kept.yaml"), disks(loadOf(610, "vol-1", 299, 4*kib, .6, clipped)))
	add("models/own, cells", expecting("", "cells.yaml"), disks(loadOf(611, "vol-1", 400, 16*kib, .6, phases)))
	add("models/own, outside of cells", expecting("", "cells.yaml"), disks(grows, small))
	add("models/ops and bytes", expecting("", "plain.yaml"), rateTable("ops,bytes",
		loadOf(613, "vol-1", 290, 200*kib, .6, clipped)))
	add("models/ops only", expecting("", "units.yaml"), rateTable("ops", small))
	add("models/ops and bytes, ways", expecting("", "ways.yaml"), rateTable("ops,bytes", small))
	add("models/reads only", expecting("", "ways.yaml"), rateTable("read_ops,read_bytes", small))
	add("models/above the model", expecting("", "plain.yaml"), disks(loadOf(614, "vol-1", 450, 16*kib, .6, clipped)))
	add("models/idle", expecting("", "plain.yaml"), disks(loadOf(615, "vol-1", 0, 16*kib, .6, steady)))
}

// creditPressures are of volumes that burst.
func creditPressures(add adding) {
	burst := disks(loadOf(620, "vol-1", 1500, 16*kib, .7, phases))
	for _, credits := range []string{"", "full", "empty", "40%"} {
		add("credits/gp2 "+credits, expecting(fmt.Sprintf(`"credits": %q, "set": {"gib": "100"}`, credits), "aws-gp2"), burst)
	}
	add("credits/gp2, runs out", expecting(`"credits": "full", "set": {"gib": "100"}`, "aws-gp2"),
		disks(loadOf(621, "vol-1", 2900, 16*kib, .7, clipped)))
	add("credits/gp2, not needed", expecting(`"set": {"gib": "100"}`, "aws-gp2"),
		disks(loadOf(622, "vol-1", 200, 16*kib, .7, steady)))
	add("credits/own, unknown", expecting(`"set": {"gib": "50"}`, "bucket.yaml"),
		disks(loadOf(623, "vol-1", 380, 16*kib, .7, phases)))
	add("credits/own, overdrawn", expecting(`"credits": "empty", "set": {"gib": "50"}`, "bucket.yaml"),
		disks(loadOf(624, "vol-1", 380, 16*kib, .7, clipped)))
	add("credits/own, filled", expecting("", "filled.yaml"), disks(loadOf(625, "vol-1", 300, 128*kib, .7, phases)))
	for _, tier := range []string{"P10", "P30"} {
		add("credits/azure-premium "+tier, expecting(fmt.Sprintf(`"set": {"tier": %q}`, tier), "azure-premium"), burst)
	}
	add("credits/azure-premium empty", expecting(`"credits": "empty", "set": {"tier": "P15"}`, "azure-premium"), burst)
	add("credits/st1", expecting(`"credits": "full", "set": {"gib": "1024"}`, "aws-st1"),
		disks(loadOf(626, "vol-1", 200, 1024*kib, .9, clipped)))
	readings := csvTable{header: "time,volume,read_ops,write_ops,read_bytes,write_bytes,credits,exceeded_ops,idle"}
	rng := seeded(627)
	for i := range 40 {
		n := float64(200 + rng.IntN(200))
		readings.add(began().Add(time.Duration(i+1)*time.Minute), "vol-1", n, n/2, n*8*kib, n*4*kib, max(0, 1-.03*float64(i)),
			.1*float64(i%3), .25*float64(i%2))
	}
	add("credits/readings", expecting(`"set": {"gib": "50"}`, "bucket.yaml"), file{"disks.csv", readings.String()})
}

// nodePressures are of several volumes and nodes.
func nodePressures(add adding) {
	two := []monitored{loadOf(630, "db-1/vol-1", 280, 64*kib, .7, clipped),
		loadOf(631, "db-1/vol-2", 150, 16*kib, .5, steady),
		loadOf(632, "db-2/vol-1", 120, 64*kib, .7, phases)}
	add("nodes/two", expecting("", "plain.yaml"), disks(two...))
	add("nodes/limit of the node", expecting("", "node.yaml"), disks(two...))
	add("nodes/both limits", expecting("", "node.yaml", "plain.yaml"), disks(two...))
	add("nodes/instance and gp3", expecting(`"credits": "full", "set": {"type": "m5.large", "gib": "100"}`,
		"aws-instance", "aws-gp3"),
		disks(loadOf(633, "db-1/vol-1", 2900, 16*kib, .7, clipped), loadOf(634, "db-1/vol-2", 2000, 16*kib, .7, clipped)))
	add("nodes/instance, credits unknown", expecting(`"set": {"type": "t3.medium"}`, "aws-instance"),
		disks(loadOf(633, "db-1/vol-1", 2900, 16*kib, .7, clipped), loadOf(634, "db-1/vol-2", 2000, 16*kib, .7, clipped)))
	add("nodes/pd-ssd", expecting(`"set": {"gib": "100", "vcpus": "8"}`, "gcp-pd-ssd"),
		disks(loadOf(635, "a/d1", 6000, 32*kib, .7, clipped), loadOf(636, "a/d2", 3000, 32*kib, .7, clipped),
			loadOf(637, "b/d1", 900, 64*kib, .2, phases)))
	add("nodes/gcp-vm", expecting(`"set": {"machine": "ssd-2-7"}`, "gcp-vm"),
		disks(loadOf(638, "a/d1", 14000, 16*kib, .9, clipped)))
	add("nodes/a model each", expecting(`"set": {"vol-1.iops": "300", "db-2/vol-1.iops": "200", "throughput": "60"}`,
		"*=plain.yaml", "vol-1=sized.yaml"),
		disks(two...))
	add("nodes/by the node", expecting(`"set": {"iops": "500", "db-1/*.iops": "300", "throughput": "30MiB"}`,
		"sized.yaml"), disks(two...))
	add("nodes/one without a model", expecting("", "vol-1=plain.yaml"), disks(two...))
	add("nodes/two files", expecting("", "node.yaml", "plain.yaml"), disks(two[0], two[2]),
		file{"more.csv", disks(two[1]).text})
	add("nodes/two sources of one", expecting("", "plain.yaml"), disks(two...), file{"more.csv", disks(two[0]).text})
	devices := disks(loadOf(640, "sda", 280, 16*kib, .7, clipped), loadOf(641, "sda1", 280, 16*kib, .7, clipped),
		loadOf(642, "dm-0", 280, 16*kib, .7, clipped))
	add("nodes/parts of devices", expecting("", "plain.yaml"), devices)
	add("nodes/a part by its name", expecting("", "plain.yaml", "sda1=plain.yaml"), devices)
	shared := csvTable{header: "time,node,volume,read_ops,write_ops,read_bytes,write_bytes,received_bytes,sent_bytes,cpu"}
	rng := seeded(643)
	for i := range 40 {
		at, x := began().Add(time.Duration(i+1)*time.Minute), rng.Float64()
		shared.add(at, "db-1", "vol-1", 250+40*x, 20, 4e6*x, 2e6*x, "", "", "")
		shared.add(at, "db-1", "network", "", "", "", "", 30e6+20e6*x, 9e6, "")
		shared.add(at, "db-1", "cpu", "", "", "", "", "", "", 1.2+.6*x)
	}
	add("nodes/network and processor", expecting("", "plain.yaml", "link.yaml", "cores.yaml"),
		file{"disks.csv", shared.String()})
}

// optionPressures are of one load with other options.
func optionPressures(add adding) {
	at := disks(loadOf(650, "vol-1", 300, 64*kib, .7, clipped))
	for _, o := range []struct{ name, options string }{
		{"critical 50", `"critical": 50`}, {"critical 100", `"critical": 100`},
		{"critical 100 or equal", `"critical": 100, "or_equal": true`}, {"critical 150", `"critical": 150`},
		{"gate passed", `"fail_above": 99`}, {"gate missed", `"fail_above": 10`}, {"gate not known", `"fail_above": 60`},
		{"zone", `"zone": "Europe/Berlin"`}, {"period", `"period": "30s"`},
	} {
		add("options/"+o.name, expecting(o.options, "plain.yaml"), at)
	}
	add("options/gate without a measure", expecting(`"fail_above": 50`, "ways.yaml"), rateTable("read_ops,read_bytes",
		loadOf(651, "vol-1", 100, 4*kib, .7, steady)))
}

// growthPressures ask what growth costs.
func growthPressures(add adding) {
	const prices = `"prices": "model,input,per_month,currency,included\nsized,iops,0.1,USD,100\n` +
		`sized,throughput,0.5,USD,\nm5.large,node,70,USD,\n"`
	const set = `"set": {"iops": "300", "throughput": "30"}, `
	one := disks(loadOf(660, "db-1/vol-1", 295, 64*kib, .7, clipped))
	three := disks(loadOf(660, "db-1/vol-1", 295, 64*kib, .7, clipped),
		loadOf(661, "db-2/vol-1", 200, 64*kib, .7, steady), loadOf(662, "db-3/vol-1", 100, 16*kib, .7, phases))
	for _, g := range []struct {
		name, options string
		of            file
	}{
		{"twice", `"growth": 2, "requests": 700, ` + prices, one}, {"of three nodes", `"growth": 1.7, "requests": 900, ` +
			prices, three},
		{"little", `"growth": 1.05, ` + prices, three}, {"no prices", `"growth": 2`, one}, {"not reached",
			`"growth": 40, ` + prices, one},
		{"some prices", `"growth": 2, "prices": "model,input,per_month,currency\nsized,iops,0.1,USD\n"`, one},
		{"wrong prices", `"growth": 2, "prices": "model,input,per_month,currency\nsized,iops,cheap,USD\n"`, one},
	} {
		add("growth/"+g.name, expecting(set+g.options, "sized.yaml"), g.of)
	}
	add("growth/paper", expecting(`"critical": 100, "growth": 3.48, "set": {"iops": "300", "type": "m3.medium"}`,
		"paper-ebs-2015"),
		disks(loadOf(663, "vol-1", 276, 64*kib, .7, clipped)))
	add("growth/gp2", expecting(`"credits": "empty", "growth": 2, "set": {"gib": "100"}, `+
		`"prices": "model,input,per_month,currency\naws-gp2,gib,0.1,USD\nn,node,30,USD\n"`, "aws-gp2"),
		disks(loadOf(664, "vol-1", 300, 16*kib, .7, clipped)))
}

// dataPressures are of tables and counters with defects.
func dataPressures(add adding) {
	of := loadOf(670, "vol-1", 300, 64*kib, .7, clipped)
	lines := strings.Split(strings.TrimSpace(disks(of).text), "\n")
	changed := func(change func(lines []string) []string) file {
		return file{"disks.csv", strings.Join(change(append([]string(nil), lines...)), "\n") + "\n"}
	}
	plain := expecting("", "plain.yaml")
	add("data/gap", plain, changed(func(l []string) []string { return append(l[:12], l[17:]...) }))
	add("data/values missing", plain, changed(func(l []string) []string {
		for i := 5; i < 9; i++ {
			l[i] = l[i][:strings.Index(l[i], ",")] + ",,vol-1,,,,"
		}
		return l
	}))
	add("data/bytes missing", plain, changed(func(l []string) []string {
		for i := 5; i < 9; i++ {
			l[i] = l[i][:strings.LastIndex(l[i], ",")+1]
		}
		return l
	}))
	add("data/back in time", plain, changed(func(l []string) []string { l[8], l[9] = l[9], l[8]; return l }))
	add("data/equal rows", plain, changed(func(l []string) []string { return append(l, l[7]) }))
	add("data/other values", plain, changed(func(l []string) []string { return append(l, l[7]+"1") }))
	add("data/one time", plain, changed(func(l []string) []string { return l[:2] }))
	add("data/no rate", plain, changed(func(l []string) []string { l[4] += "x"; return l }))
	add("data/empty", plain, file{"disks.csv", ""})
	add("data/dates guessed", plain, file{"disks.csv", "time,volume,read_ops,write_ops,read_bytes,write_bytes\n" +
		"03/04/2026 10:00:00,v,200,90,900000,400000\n" +
		"03/04/2026 10:01:00,v,210,90,900000,400000\n03/04/2026 10:02:00,v,290,9,900000,400000\n"})
	repeated := "time,volume,read_ops,write_ops,read_bytes,write_bytes\n"
	for minute := 90; minute < 240; minute += 10 { // the hour from 2:00 is there once, and the clock showed it twice
		repeated += fmt.Sprintf("2026-10-25 %02d:%02d:00,v,200,90,900000,400000\n", minute/60, minute%60)
	}
	add("data/clock repeats an hour", expecting(`"zone": "Europe/Berlin"`, "plain.yaml"), file{"disks.csv", repeated})
	add("data/counts of gcp", plain, file{"disks.csv", "time,device_name,instance/disk/read_ops_count," +
		"instance/disk/write_ops_count,instance/disk/read_bytes_count,instance/disk/write_bytes_count\n" +
		"2026-04-03T10:00:00Z,v,200,90,900000,400000\n" +
		"2026-04-03T10:01:00Z,v,210,90,900000,400000\n2026-04-03T10:02:00Z,v,190,80,900000,400000\n"})
	consumed := csvTable{header: "time,volume,read_ops,write_ops,read_bytes,write_bytes,consumed_ops"}
	for i, x := range of.rates {
		consumed.add(of.end(i), "vol-1", x[0], x[1], x[2], x[3], (x[0]+x[1])*2)
	}
	add("data/normalised sizes", plain, file{"disks.csv", consumed.String()})
	counterPressures(add)
}

// counterPressures are of what programs print of each second, some with defects.
func counterPressures(add adding) {
	plain, lab := expecting("", "plain.yaml"), expecting(`"set": {"iops": "200", "bandwidth": "10MiB"}`, "lab")
	of := []monitored{loadOf(671, "sda", 290, 16*kib, .7, clipped).eachSecond(),
		loadOf(672, "sdb", 200, 64*kib, .5, phases).eachSecond()}
	counters := func(name, params string, texts ...string) {
		add("data/diskstats, "+name, params, file{"diskstats.txt", strings.Join(texts, "")})
	}
	whole, again := diskstats(1e6, of...).text, diskstats(0, of...).text
	half := strings.Index(whole, fmt.Sprintf("%d.", of[0].end(20).Unix()))
	at := func(seconds int64) string { // the second half at another time
		return strings.ReplaceAll(whole[half:], fmt.Sprint(began().Unix())[:7], fmt.Sprint(began().Unix() + seconds)[:7])
	}
	counters("plain", plain, whole)
	counters("lab", lab, whole)
	counters("wrapped", plain, diskstats(1<<32-5000, of...).text)
	counters("reset", plain, whole[:half], again[strings.Index(again, whole[half:half+10]):])
	counters("paused", plain, whole[:half], at(1000))
	counters("clock set", plain, whole[:half], at(-1000))
	add("data/iostat, JSON", lab, iostatJSON(of...))
	text := iostatText(false, of...)
	add("data/iostat, text", plain, text)
	add("data/iostat, decimal comma", plain, iostatText(true, of...))
	add("data/iostat, twice", plain, file{text.name, text.text + "\n" + text.text})
	lines := strings.SplitAfter(text.text, "\n")
	k := slices.IndexFunc(lines[60:], func(line string) bool { return strings.HasPrefix(line, "sdb") }) + 60
	add("data/iostat, device missing", plain, file{text.name, strings.Join(slices.Delete(lines, k, k+1), "")})
}

// iostatPressures are of recordings from real programs.
func iostatPressures(t *testing.T, add adding) {
	t.Helper()
	for _, name := range []string{"diskstats-blocks.txt", "diskstats-bucket.txt", "iostat-cassandra-3nodes-300.json",
		"iostat-text-C.txt", "iostat-v11-sectors-t.txt", "iostat-v12.6-de-y-t.txt", "iostat-v12.6-fr-d-y-t.txt",
		"iostat-v12.6-ja-y-t.txt",
		"iostat-v12.7-y.txt", "iostat-ended-by-SIGTERM-broken.json", "iostat-x-first-since-boot.json"} {
		text, err := os.ReadFile(filepath.Join("../../internal/telemetry/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		params := expecting(`"set": {"iops": "300", "bandwidth": "60MiB"}`, "lab")
		if name == "iostat-v12.7-y.txt" { // without times
			params = expecting(`"period": "1s"`, "plain.yaml")
		}
		add("recorded/"+name, params, file{name, string(text)})
	}
}

// refusedPressures are questions with something wrong.
func refusedPressures(add adding) {
	of := disks(loadOf(680, "vol-1", 300, 64*kib, .7, clipped))
	for _, r := range []struct {
		name, options string
		models        []string
	}{
		{"no model", "", nil}, {"unknown model", "", []string{"aws-gp4"}}, {"wrong file", "", []string{"wrong.yaml"}},
		{"input missing", "", []string{"sized.yaml"}}, {"input too large", `"set": {"iops": "5000", "throughput": "20"}`,
			[]string{"sized.yaml"}},
		{"no such input", `"set": {"iops": "500"}`, []string{"plain.yaml"}}, {"no such service", "",
			[]string{"vol-7=plain.yaml"}},
		{"model of no service", "", []string{"link.yaml"}}, {"no share", `"credits": "much"`, []string{"plain.yaml"}},
		{"no zone", `"zone": "Europe/Atlantis"`, []string{"plain.yaml"}},
	} {
		add("refused/"+r.name, expecting(r.options, r.models...), of)
	}
}

// runPressures are about what a run recorded of its own nodes.
func runPressures() (out []question) {
	add := func(name, params string, d model.RunData) {
		out = append(out, question{name: "pressure/runs/" + name, study: "pressure", params: params,
			runs: []model.RunData{d}, sources: []string{"measured"}})
	}
	data := func(seed uint64, most float64, of course) []monitored {
		return []monitored{loadOf(seed, "a/data", most, 64*kib, .7, of).eachSecond(),
			loadOf(seed+1, "b/data", most/2, 64*kib, .7, of).eachSecond()}
	}
	lab := expecting(`"set": {"iops": "210", "bandwidth": "60MiB"}`, "lab")
	add("volumes", lab, monitoredRun(data(690, 300, clipped)))
	add("two trials", lab, monitoredRun(data(692, 300, clipped), data(694, 250, phases)))
	add("network and processor", expecting("", "link.yaml", "cores.yaml"), monitoredRun([]monitored{loadOf(696,
		"a/network", 160, 200*kib, .6, growing).eachSecond()}))
	raised := monitoredRun(data(698, 300, clipped), data(700, 600, clipped))
	for i, factors := range []string{`{"raised": false}`, `{"raised": true}`} {
		s := &raised.Steps[i]
		s.Factors, s.Trial = json.RawMessage(factors), 1
		s.Volumes = map[string]model.VolumeLevel{"data": {IOPS: 210 * (1 + i), Bandwidth: 60 * mib}}
	}
	add("raised", expecting(`"raise": {"data": {"iops": 420}}`, "data=lab"), raised)
	nothing := monitoredRun(data(702, 300, clipped))
	for i := range nothing.Results {
		nothing.Results[i].Host = nil
	}
	add("nothing monitored", lab, nothing)
	return out
}
