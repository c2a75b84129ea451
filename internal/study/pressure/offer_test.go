package pressure

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// drawInputs are inputs that the model offers.
func drawInputs(t *testing.T, rng *rand.Rand, m *levels.Model) map[string]string {
	t.Helper()
	for range 1000 {
		set := make(map[string]string)
		for _, name := range m.InputNames() {
			if words := m.Choices(name); words != nil {
				set[name] = words[rng.IntN(len(words))]
			} else {
				set[name] = digits(math.Ceil(math.Pow(10, 1+3.5*rng.Float64())))
			}
		}
		if _, err := m.Levels(set); err == nil {
			return set
		}
	}
	t.Fatalf("no inputs of %s", m.Name)
	return nil
}

// TestAdviceIsOffered draws services of all models that come with the program, and loads. The provider has the inputs
// that are advised. Their levels are those that the advice names, and no other limit is below what it needs.
func TestAdviceIsOffered(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 17))
	count := make(map[Action]int)
	all := levels.Builtin()
	for range 150 {
		m := all[rng.IntN(len(all))]
		p := params(drawInputs(t, rng, m), Chosen{Name: m.Name})
		p.Credits = "empty"
		now, err := m.Levels(p.Set)
		if err != nil {
			t.Fatal(err)
		}
		size, mix := 4096*math.Pow(2, 8*rng.Float64()), rng.Float64()
		load := now.At(size, mix).Ops * math.Pow(10, -2*rng.Float64())
		if rng.IntN(2) == 0 {
			load = now.At(size, mix).Ops * (.9 + .1*rng.Float64())
		}
		of := reads(size, slicesOf(load*mix, 70)...)
		maps.Copy(of, columns{telemetry.WriteOps: slicesOf(load*(1-mix), 70),
			telemetry.WriteBytes: slicesOf(load*(1-mix)*size, 70)})
		if rng.IntN(4) == 0 { // the source does not have bytes
			of = columns{telemetry.Ops: slicesOf(load, 70)}
		}
		r := resultOf(t, p, recordedOf("db-1", "vol-1", 60, of))
		growth := 1.0
		for _, a := range r.Advice {
			if count[a.Action]++; a.Action == ActionRaise || a.Action == ActionOtherService {
				if a.Growth != nil {
					growth = a.Growth.Value
				}
			}
		}
		for _, a := range r.Advice {
			if a.Inputs == nil || a.To == nil {
				continue
			}
			set := maps.Clone(p.Set)
			maps.Copy(set, a.Inputs)
			then, err := m.Levels(set)
			if err != nil {
				t.Errorf("%s %v: %s %v: %v", m.Name, p.Set, a.Action, a.Inputs, err)
				continue
			}
			for i, level := range then.Limits {
				name, rate, before := level.Name(), level.Rate.Level(), now.Limits[i].Rate.Level()
				if name == a.Quality {
					near(t, m.Name+": level of the advice", *a.To/rate, 1)
				}
				needed := before
				for _, s := range r.Services {
					if s.Quality == name {
						if needed = min(before, s.line.loads.Mean()*growth); a.Action == ActionLower && name == a.Quality {
							needed = s.line.loads.Mean() * growth / .95
						}
					}
				}
				if a.Action == ActionRaise && len(a.Next) > 0 && a.Next[0].Quality == name && level.Bucket == nil {
					load := find(t, r, "db-1", a.Next[0].Service, name).line.loads.Mean()
					if x := rate / (load * growth); x < 1-1e-6 || x > 1.06 {
						t.Errorf("%s %v: %v: %s binds at %g of its level", m.Name, p.Set, a.Inputs, name, 1/x)
					}
				}
				if rate < needed*(1-1e-6) {
					t.Errorf("%s %v: %s %s %v: %s is %g, and needs %g", m.Name, p.Set, a.Action, a.Quality, a.Inputs, name, rate,
						needed)
				}
			}
		}
	}
	if min(count[ActionRaise], count[ActionLower], count[ActionHeadroom], 5*count[ActionOtherService]) < 10 {
		t.Errorf("advice: %v", count)
	}
}

// TestLowerKeepsBounds: a throughput of 1,000 MiB/s takes 4,000 operations, though fewer are used.
func TestLowerKeepsBounds(t *testing.T) {
	p := params(map[string]string{"gib": "100", "iops": "16000", "throughput": "1000"}, Chosen{Name: "aws-gp3"})
	r := resultOf(t, p, recordedOf("db-1", "v", 60, reads(1<<20, slicesOf(800, 70)...))) // 3,200 counted operations
	if a := lowered(r); len(a) != 1 || *a[0].To != 4000 || settings(a[0].Inputs, nil) != "iops=4000" {
		t.Errorf("%+v, want 4,000 operations: 1,000 MiB/s take so many", a)
	}
}

// TestRaiseMovesOthers: GiB that give operations give bytes, too. Of 100 GiB bytes bind at 128 MiB/s; of more than 170,
// at 250. With io2, bytes grow with operations.
func TestRaiseMovesOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		model        string
		set          map[string]string
		size, ops    float64
		to, growth   float64
		next, inputs string
	}{
		"gp2": {"aws-gp2", map[string]string{"gib": "100"}, 64 << 10, 300, 4002, 250. / 128 * 128 * 16 / 300, "bytes",
			"gib=1334"},
		"io2": {"aws-io2", map[string]string{"gib": "100", "iops": "1000"}, 128 << 10, 1000, 32000, 32, "bytes",
			"iops=32000"},
	} {
		p := params(tt.set, Chosen{Name: tt.model})
		p.Credits = "empty"
		r := resultOf(t, p, recordedOf("db-1", "v", 60, reads(tt.size, slicesOf(tt.ops, 20)...)))
		a := r.Advice[0]
		if a.Action != ActionRaise || len(a.Next) == 0 || a.Next[0].Quality != tt.next ||
			settings(a.Inputs, nil) != tt.inputs {
			t.Fatalf("%s: %+v, want %s", name, a, tt.inputs)
		}
		near(t, name+": to", *a.To/tt.to, 1)
		near(t, name+": growth", math.Round(100*a.Growth.Value), math.Round(100*tt.growth))
	}
}

// TestOtherService: what the model cannot give is no raise, and the advice says up to where more is of use.
func TestOtherService(t *testing.T) {
	p := params(map[string]string{"tier": "P80"}, Chosen{Name: "azure-premium"})
	r := resultOf(t, p, recordedOf("db-1", "v", 60, reads(4096, slicesOf(20000, 10)...)))
	a := &r.Advice[0]
	if a.Action != ActionOtherService || !a.Other || math.Round(*a.To) != 220000 || a.Inputs != nil ||
		a.Next[0].Quality != "bytes" {
		t.Errorf("%+v, want another service, up to 220,000 op/s", a)
	}
	want := "its model has no higher level. Another size or kind of service is of use up to 220000 op/s; more is of no " +
		"use, because bytes are at 100 % then"
	if got := r.sentence(a); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGrowthByWords: the cheapest word whose levels are enough; if the list lacks it, no price.
func TestGrowthByWords(t *testing.T) {
	const head = "model,input,per_month,currency\n"
	tiers := head + "host,node,70,USD\nazure-premium,tier=P10,20,USD\nazure-premium,tier=P20,60,USD\n" +
		"azure-premium,tier=P30,50,USD\n"
	types := head + "m5.large,node,70,USD\nm6i.xlarge,node,140,USD\nc6i.xlarge,node,120,USD\n"
	disk := Chosen{Name: "azure-premium"}
	host := Chosen{Name: "aws-instance"}
	for name, tt := range map[string]struct {
		model            Chosen
		input, now, want string
		prices           string
		raise, nodes     float64 // NaN: not known
		lacks            string
	}{
		"a tier": {disk, "tier", "P10", "P30", tiers, 70 + 50, 3 * (70 + 20), ""},
		"the smallest, unpriced": {disk, "tier", "P10", "P15", head + "host,node,70,USD\n", math.NaN(), math.NaN(),
			"tier=P15"},
		"a type": {host, "type", "m5.large", "c6i.xlarge", types, 120, 210, ""},
		"one type has a price": {host, "type", "m5.large", "t3.large", head + "m5.large,node,70,USD\n", math.NaN(), 210,
			"t3.large node"},
		"only another type has a price": {host, "type", "m5.large", "m6i.8xlarge", head + "m6i.8xlarge,node,900,USD\n", 900,
			math.NaN(), "m5.large node"},
	} {
		t.Run(name, func(t *testing.T) {
			p := params(map[string]string{tt.input: tt.now}, tt.model)
			p.Growth, p.Prices, p.Credits = 2.1, tt.prices, "empty"
			load := 450. // of 500
			if tt.input == "type" {
				load = 1800 // of 3,600
			}
			if name == "one type has a price" {
				load = 1750
			}
			r := resultOf(t, p, recordedOf("db-1", "v", 60, reads(4096, slicesOf(load, 10)...)))
			g := r.Growth
			if g == nil || g.Services[0].To[tt.input] != tt.want {
				t.Fatalf("%+v, want %s", g, tt.want)
			}
			known := func(x *float64) float64 {
				if x == nil {
					return math.NaN()
				}
				return *x
			}
			near(t, "price of the raise", known(g.Raise.Monthly), tt.raise)
			near(t, "price of enough nodes", known(g.EnoughNodes.Monthly), tt.nodes)
			if tt.lacks != "" {
				says(t, r, tt.lacks)
			} else if len(r.Doubts) > 0 && strings.Contains(fmt.Sprint(r.Doubts.Texts()), "price list") {
				t.Error(r.Doubts.Texts())
			}
		})
	}
}

// TestSharedConnection: the connection of the paper's instance belongs to the node. One volume has it alone; two share
// it, so that it binds earlier.
func TestSharedConnection(t *testing.T) {
	p := params(map[string]string{"type": "m3.medium", "iops": "300"}, Chosen{Name: "paper-ebs-2015"})
	one := resultOf(t, p, clipped("db-1"))
	near(t, "P_bw of one volume", find(t, one, "db-1", "vol-2", "bytes.connection").SLP.Mean, .2875)
	other := recordedOf("db-1", "vol-1", 10, reads(64<<10, slicesOf(276, 30)...))
	p.Growth, p.Prices = 1.5, "model,input,per_month,currency\npaper-ebs-2015,iops,.1,USD\npaper-ebs-2015,gib,.2,USD\n"+
		"m3.medium,node,50,USD\n"
	two := resultOf(t, p, clipped("db-1"), other)
	near(t, "P_bw of two", find(t, two, "db-1", "", "bytes.connection").SLP.Mean, 2*.2875)
	var got []string
	for _, a := range two.Advice {
		got = append(got, a.Service+" "+settings(a.Inputs, nil)+" "+a.Next[0].Quality)
	}
	if diff := cmp.Diff([]string{"vol-1 iops=480 bytes.connection", "vol-2 iops=480 bytes.connection"}, got); diff != "" {
		t.Errorf("advice (-want +got):\n%s", diff)
	}
	// 276·1.5/.95 = 436 operations for each, 100 GiB, and one host.
	near(t, "price of the raise", *two.Growth.Raise.Monthly, 2*(436*.1+100*.2)+50)
	text, err := json.Marshal(two)
	if err != nil || strings.Contains(string(text), `"service":"vol-1","quality":"bytes.connection"`) {
		t.Errorf("%v: the connection counts per volume: %s", err, text)
	}
}

// TestGrowthIsCheapest: bytes come with GiB or with operations, and a GiB allows three operations. 33 GiB with 86
// operations give 14.4·4/.95 = 60.7 MB/s at the least price; 63 GiB alone cost nearly twice as much.
func TestGrowthIsCheapest(t *testing.T) {
	const file = `
model: own
source: {title: drawn, read: 2026-11-27}
inputs:
  gib: {min: 2, max: 82}
  iops: {min: 27, max: {per_gib: 3, min: 27, max: 345}}
limits:
- {of: ops, ways: [read, write], rate: {per_gib: 3}}
- {of: bytes, ways: [read, write], rate: {per_gib: 614400, per_op: 307200, min: 14745600, max: 74137600}}
`
	p := params(map[string]string{"gib": "8", "iops": "27"}, Chosen{Name: "own", Text: file})
	p.Growth, p.Prices = 4, "model,input,per_month,currency,included\nown,gib,1,USD,\nown,iops,0.01,USD,47\n"+
		"host,node,40,USD,\n"
	g := resultOf(t, p, recordedOf("db-1", "v", 60, reads(480804, slicesOf(23.059, 20)...))).Growth
	near(t, "price of the raise", *g.Raise.Monthly, 40+33+.01*(86-47))
	if diff := cmp.Diff(map[string]string{"gib": "33", "iops": "86"}, g.Services[0].To); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// TestGrowthMovesTheHost: two volumes share a connection that is too small. The host needs another type, and its
// volumes move with it.
func TestGrowthMovesTheHost(t *testing.T) {
	p := params(map[string]string{"type": "m3.medium", "iops": "300"}, Chosen{Name: "paper-ebs-2015"})
	p.Growth, p.Prices = 2.5, "model,input,per_month,currency\npaper-ebs-2015,iops,.1,USD\npaper-ebs-2015,gib,.2,USD\n"+
		"m3.medium,node,50,USD\noptimized-93.75,node,90,USD\noptimized-125,node,80,USD\n"
	r := resultOf(t, p, clipped("db-1"), recordedOf("db-1", "vol-1", 10, reads(64<<10, slicesOf(276, 30)...)))
	// 2·276·2.5·64 KiB is 86.25 MiB/s, of which .95 need 90.8; 276·2.5/.95 = 727 operations for each, and 100 GiB.
	near(t, "price of the raise", *r.Growth.Raise.Monthly, 2*(727*.1+100*.2)+80)
	for _, s := range r.Growth.Services {
		if s.To["type"] != "optimized-125" {
			t.Errorf("%q has the type %s, want that of its host", s.Service, s.To["type"])
		}
	}
}

// TestGrowthBeyondAllTypes: if no type of host is enough, there is no raise to price. More nodes still have a price.
func TestGrowthBeyondAllTypes(t *testing.T) {
	p := params(map[string]string{"type": "m6i.8xlarge"}, Chosen{Name: "aws-instance"})
	p.Growth, p.Prices = 2, "model,input,per_month,currency\nm6i.8xlarge,node,900,USD\nm5.large,node,70,USD\n"
	g := resultOf(t, p, recordedOf("db-1", "v", 60, reads(4096, slicesOf(30000, 10)...))).Growth
	if near(t, "price of two nodes", *g.EnoughNodes.Monthly, 1800); g.Raise != nil {
		t.Errorf("raise %+v, want none", g.Raise)
	}
}
