package pressure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// opsForm has one limit.
const opsForm = "limits: [{of: ops, rate: 100}]"

// window are the periods of a recording from one to another.
func window(r telemetry.Recording, from, to int) telemetry.Recording {
	r = cutBefore(r, from)
	r.Begin, r.End = r.Begin[:to-from], r.End[:to-from]
	for m := range r.Rates {
		r.Rates[m] = r.Rates[m][:to-from]
	}
	return r
}

// lookAt looks at a recording, without an error.
func lookAt(t *testing.T, l *Live, at float64, r ...telemetry.Recording) []*Moment {
	t.Helper()
	news, err := l.Look(time.UnixMilli(int64(1e3*at)), r)
	if err != nil {
		t.Fatal(err)
	}
	return news
}

// TestLive: how long a pressure has been critical, or above that of the alert, up to now.
func TestLive(t *testing.T) {
	volume := recordedOf("h", "data", 1, reads(4096, 50, 100, 100, 100))
	gap := recordedOf("h", "data", 1, reads(4096, 50, 100, 100, 100))
	gap.Begin[3], gap.End[3] = 5, 6
	for name, tt := range map[string]struct {
		of       telemetry.Recording
		critical study.Percent
		equal    bool
		want     float64
	}{"above": {volume, 95, false, 3}, "not above": {volume, 100, false, 0}, "equal": {volume, 100, true, 3},
		"a gap": {gap, 95, false, 1}} {
		p := params(nil, file("", "m", opsForm))
		p.Critical, p.OrEqual = tt.critical, tt.equal
		l := p.Live(float64(tt.critical) / 100)
		got := lookAt(t, l, 4, tt.of)
		if len(got) != 1 || got[0].SLP != 1 || got[0].Critical != tt.want || got[0].Above().Seconds() != tt.want {
			t.Errorf("%s: %+v, want critical for %g s", name, got, tt.want)
			continue
		}
		if line := got[0].CSV(); name == "above" && line != "1970-01-01T00:00:04Z,h,data,ops,1,3,1" {
			t.Errorf("CSV %q", line)
		}
		if again := lookAt(t, l, 5, tt.of); len(again) != 0 {
			t.Errorf("%s: what was taken comes again: %+v", name, again)
		}
	}
	if _, err := params(nil, file("", "m", "limits: [{of: ops, ways: each, rate: 100}]")).Live(0).Look(time.Now(),
		[]telemetry.Recording{recordedOf("h", "data", 1, columns{telemetry.Ops: {1, 2}})}); err == nil {
		t.Error("no error of a source without what the limit counts")
	}
	if got := lookAt(t, params(nil, file("v", "m", opsForm)).Live(0), 0); len(got) != 0 {
		t.Errorf("nothing was read yet: %v", got)
	}
}

// TestLiveIsTheWhole: looks at windows that overlap say what a look at the whole says, of
// loads drawn at random; also of a bucket, whose balance is never seen again.
func TestLiveIsTheWhole(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		const n = 400
		loads := draw(rng, n)
		for i := range loads {
			loads[i] *= 100 * (1 + 2*rng.Float64())
		}
		volume := recordedOf("h", "data", 1, reads(4096, loads...))
		p := params(nil, file("", "m", bucketForm))
		p.Credits = []string{"", "full", "empty", "40%"}[rng.IntN(4)]
		p.parsed, _ = p.parse()
		l := p.Live(.95)
		for to := 1; to <= n; {
			lookAt(t, l, float64(to), window(volume, max(0, to-10), to))
			whole := lookAt(t, p.Live(.95), float64(to), window(volume, 0, to))[0]
			got := l.Limits()[0]
			what := fmt.Sprintf("seed %d, credits %q, second %d: ", seed, p.Credits, to)
			near(t, what+"pressure", got.SLP, whole.SLP)
			near(t, what+"most", got.Most, whole.Most)
			near(t, what+"critical", got.Critical, whole.Critical)
			near(t, what+"above", got.Above().Seconds(), whole.Above().Seconds())
			to += 1 + rng.IntN(9)
		}
	}
}

// TestLiveStaysSmall: what is kept does not grow with the time.
func TestLiveStaysSmall(t *testing.T) {
	p := params(nil, file("", "m", bucketForm))
	p.Credits = "empty"
	l := p.Live(.5)
	kept := func() [5]int {
		m := l.Limits()[0]
		return [5]int{len(m.recent), len(l.order), len(l.limits), len(l.ended), len(l.params.live)}
	}
	var early [5]int
	for second := range 20_000 {
		r := recordedOf("h", "data", 1, reads(4096, 100, 100, 100))
		for i := range r.Begin {
			r.Begin[i], r.End[i] = r.Begin[i]+float64(second), r.End[i]+float64(second)
		}
		if lookAt(t, l, float64(second), r); second == 100 {
			early = kept()
		}
	}
	if late := kept(); late != early || early[0] != widest {
		t.Errorf("kept %v after 100 s and %v after 20,000 s", early, late)
	}
	near(t, "above since the begin", l.Limits()[0].Above().Seconds(), 20_002)
}

// TestSilent: a device that vanishes is silent, also among others, and no error; when it
// comes back it begins anew. A clock that was set back does not silence it.
func TestSilent(t *testing.T) {
	p := params(nil, file("data", "m", opsForm), file("log", "n", opsForm))
	l := p.Live(.5)
	at := func(second float64) time.Time { return time.UnixMilli(int64(1e3 * second)) }
	shifted := func(service string, by float64) telemetry.Recording {
		r := recordedOf("h", service, 1, reads(4096, 90, 90, 90))
		for i := range r.Begin {
			r.Begin[i], r.End[i] = r.Begin[i]+by, r.End[i]+by
		}
		return r
	}
	lookAt(t, l, 100, shifted("data", 97), shifted("log", 97))
	if news := lookAt(t, l, 104, shifted("log", 101)); len(news) != 1 || news[0].Service != "log" {
		t.Fatalf("new: %+v, want that of log", news)
	}
	data, log := l.Limits()[0], l.Limits()[1]
	if data.Silent(at(104)) != 4*time.Second || log.Silent(at(104)) != 0 {
		t.Errorf("silent for %v and %v, want 4s and 0", data.Silent(at(104)), log.Silent(at(104)))
	}
	if line := Lines(l.Limits(), at(104), 60, 0, false)[0]; !strings.HasSuffix(line, "no reading") {
		t.Errorf("line %q, want that there is no reading", line)
	}
	lookAt(t, l, 110, shifted("data", 107), shifted("log", 107))
	if data.Silent(at(110)) != 0 || data.Above() != 3*time.Second {
		t.Errorf("back: silent for %v, above for %v, want 0 and 3s", data.Silent(at(110)), data.Above())
	}
	if news := lookAt(t, l, 111, shifted("data", 7), shifted("log", 7)); len(news) != 2 || data.Above() != 3*time.Second {
		t.Errorf("set back: new %+v, above for %v, want both and 3s", news, data.Above())
	}
}

// TestLines: no line is wider than the terminal, each has its value, and there are no more
// of them than rows.
func TestLines(t *testing.T) {
	var all []telemetry.Recording
	for i := range 12 {
		load := make([]float64, 60)
		for k := range load {
			load[k] = float64(10 * i)
		}
		all = append(all, recordedOf(fmt.Sprintf("database-%d", i%2), fmt.Sprintf("vol-%d", i), 1, reads(4096, load...)))
	}
	p := params(nil, file("", "m", "limits:\n- {of: ops, rate: 100}\n- {of: bytes, ways: each, rate: 1MiB/s}"))
	l := p.Live(0)
	lookAt(t, l, 60, all...)
	for _, width := range []int{40, 60, 80, 100, 200, 0} {
		for _, height := range []int{0, 5, 24, 100} {
			lines := Lines(l.Limits(), time.Unix(60, 0), width, height, true)
			if height == 0 && len(lines) != 36 || height > 0 && len(lines) != min(height, 36) {
				t.Errorf("%d lines of %d", len(lines), height)
			}
			for i, line := range lines {
				if width > 0 && term.Width(line) > width-1 {
					t.Errorf("width %d: %q has %d columns", width, line, term.Width(line))
				}
				if m := l.Limits()[i]; height == 0 && !strings.Contains(line, fmt.Sprintf(" %.1f %%", 100*m.SLP)) {
					t.Errorf("width %d: %q lacks %g", width, line, m.SLP)
				}
			}
			if height == 5 {
				text := strings.Join(lines, "\n")
				if !strings.Contains(text, "110.0 %") || !strings.HasSuffix(text, "32 limits more, at most 70.0 %") {
					t.Errorf("the highest are not shown:\n%s", text)
				}
			}
		}
	}
	if got := l.Limits()[0]; math.IsNaN(got.SLP) || got.Subject() != "database-0 vol-0" {
		t.Errorf("the first is %q", got.Subject())
	}
}
