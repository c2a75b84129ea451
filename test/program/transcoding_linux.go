package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/scaleout"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TranscodingLab is a fleet that transcodes videos with ffmpeg, from and into a real S3
// server behind a link.
type TranscodingLab struct {
	Store    float64 // Mbit/s of the store's link, in each direction
	Link     float64 // Mbit/s of each node's
	CPU      float64 // cores of each node
	Video    Video
	Sizes    []int
	Duration time.Duration // of a step
	Singles  int
	Trials   int
	// HalfWidth is that of the band that is wanted, in percent; one node is measured again
	// and again meanwhile.
	HalfWidth float64
	// Ends is what ends growth there. The store's incoming link carries more bytes than the
	// outgoing one.
	Ends scaleout.Bottleneck
}

// Video is a video of noise, as ffmpeg makes it and then transcodes it.
type Video struct {
	Seconds float64
	Quality int // of MPEG-4: 1 is the best
	In, Out int // kB of the MP4 and of the WMV that is made of it
}

// StoreEnds is what ends growth where the store's link does.
const StoreEnds = scaleout.Bottleneck(model.ResourceObjectPut)

// DrawTranscoding draws a lab in which growth ends so.
func DrawTranscoding(rng *rand.Rand, ends scaleout.Bottleneck) TranscodingLab {
	l := TranscodingLab{CPU: .2, Link: 100, Ends: ends, Sizes: []int{1, 2, 3, 4, 6}, Duration: 12 * time.Second,
		Singles: 3, Trials: 2, HalfWidth: 100 * WidestBand, Video: Video{Seconds: .5, Quality: 2, In: 738, Out: 826}}
	switch ends {
	case StoreEnds:
		if l.Store = 16 + 24*rng.Float64(); l.Store > 28 { // six nodes would not saturate it
			l.Sizes = []int{1, 2, 3, 5, 8}
		}
	case scaleout.OwnProcessors: // links have ten times what six nodes take
		l.Store, l.Link, l.CPU, l.Sizes = 300+200*rng.Float64(), 200, .08+.04*rng.Float64(), []int{1, 2, 4, 6}
	default: // each node waits for its own link most of the time, and the store has enough
		l.Store, l.Link, l.Sizes = 300+200*rng.Float64(), 6+4*rng.Float64(), []int{1, 2, 3}
		l.Duration = 20 * time.Second
	}
	return l
}

// Commands of ffmpeg; the first is of the length and the quality.
const (
	makeVideo = "ffmpeg -v error -y -f lavfi -i testsrc2=size=320x180:rate=24:duration=%g,noise=alls=30:allf=t " +
		"-c:v mpeg4 -q:v %d -threads 1 -f mp4 {out}"
	transcode = "ffmpeg -v error -nostdin -y -threads 1 -i {in} -c:v wmv2 -q:v 2 -threads 1 {out}"
)

// File is the experiment.
func (l TranscodingLab) File() string {
	nodes := l.Sizes[len(l.Sizes)-1]
	store := strings.TrimSuffix(S3Service(fmt.Sprintf("%.3fMbit/s, queue: 250ms", l.Store)), "\n")
	at := `endpoint: "http://${service.s3}:7070", bucket: videos, create: true`
	return fmt.Sprintf(`fleet: {lab: {nodes: %d, cpu: %.3f, link: %.3fMbit/s, queue: 250ms}}
services:
%s
workloads:
  - {name: get, kind: objectstore, %s, operation: get, size: %dkB, concurrency: 1, duration: %s}
  - {name: put, kind: objectstore, %s, operation: put, size: %dkB, concurrency: 1, duration: %s}
  - {name: transcode, kind: jobs, %s, slots: 1, duration: %s, put: {suffix: .wmv},
     stage: {copies: 12, make: "%s"}, command: "%s"}
study: {kind: scaleout, workload: transcode, capacities: [get, put], sizes: %s, singles: %d,
  half_width: %g}
trials: %d
`, nodes, l.CPU, l.Link, store, at, l.Video.In, l.Duration*5/4, at, l.Video.Out, l.Duration*5/4, at, l.Duration,
		fmt.Sprintf(makeVideo, l.Video.Seconds, l.Video.Quality), transcode,
		strings.ReplaceAll(fmt.Sprint(l.Sizes), " ", ", "), l.Singles, l.HalfWidth, l.Trials)
}

// NeedTranscoding skips the test where labs or ffmpeg are missing.
func NeedTranscoding(t *testing.T) {
	t.Helper()
	NeedLab(t)
	workloadtest.NeedTool(t, "ffmpeg")
}

// TranscodedSize is what fleets of one size came to, beside what was predicted.
type TranscodedSize struct {
	Nodes               int
	Rate                float64
	Lower, Upper, Bound *float64
	BoundError          *float64 `json:"bound_error"`
	Inside              *bool
}

// Transcoded is what such a lab came to.
type Transcoded struct {
	Sizes     []TranscodedSize
	Predicted *scaleout.Predicted
	Plateau   *float64
	// PlateauFittedCI is the interval of the plateau by the curve alone.
	PlateauFitted   *float64       `json:"plateau_fitted"`
	PlateauFittedCI *scaleout.Ends `json:"plateau_fitted_ci"`
	Bottleneck      scaleout.Bottleneck
	Answer          string
}

// Transcode runs the lab, and checks what needs no luck: that the prediction was stored before
// larger fleets began.
func (w *Installation) Transcode(l TranscodingLab) (r Transcoded, err error) {
	if _, stderr, err := w.Try("run", w.Write("transcoding.yaml", l.File())); err != nil {
		return r, fmt.Errorf("%w: %s", err, stderr)
	}
	out, stderr, err := w.Try("scaleout", "latest", "--format", "json")
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, stderr)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.T.Fatal(err) // again would be no better
	}
	CheckPredictedBefore(w.T, w.Data("latest"))
	w.T.Logf("%.1f Mbit/s, link %.1f, %.2f cores: %s", l.Store, l.Link, l.CPU, r.Answer)
	for _, s := range r.Sizes {
		w.T.Logf("%d nodes: %.3f, predicted %.3f to %.3f, min(N·r, C/d) %.3f", s.Nodes, s.Rate, *s.Lower, *s.Upper, *s.Bound)
	}
	return r, nil
}

// CheckPredictedBefore reads the times that are stored: each step of a larger fleet carries
// the one prediction. It was made when everything had ended that it rests on, and the step was
// stored, as its beginning shows, before any node of it began.
func CheckPredictedBefore(t testing.TB, d model.RunData) {
	t.Helper()
	var rests, made time.Time
	stored, begun := map[string]bool{}, map[model.StepID]time.Time{}
	for _, e := range d.Events {
		if _, again := begun[e.Step]; e.Kind == model.EventStepStarted && !again {
			begun[e.Step] = e.Time
		}
	}
	type larger struct{ stored, began time.Time }
	var fleets []larger
	for _, s := range d.Steps {
		var f struct {
			Role       scaleout.Role
			Nodes      int
			Prediction json.RawMessage
		}
		if err := json.Unmarshal(s.Factors, &f); err != nil {
			t.Fatal(err)
		}
		var p scaleout.Prediction
		if f.Role == scaleout.Fleet {
			if err := json.Unmarshal(f.Prediction, &p); err != nil {
				t.Fatalf("step %d has no prediction: %v", s.Number+1, err)
			}
			stored[string(f.Prediction)], made = true, p.Made
		}
		for _, r := range d.Results {
			switch {
			case r.Step != s.ID || r.Started.IsZero():
			case f.Role != scaleout.Fleet:
				if r.Ended.After(rests) {
					rests = r.Ended
				}
			case f.Nodes > 1:
				fleets = append(fleets, larger{begun[s.ID], r.Started})
			}
		}
	}
	if len(fleets) == 0 || len(stored) != 1 {
		t.Errorf("%d predictions are stored, and larger fleets have %d results; want one and some", len(stored), len(fleets))
	}
	for _, x := range fleets {
		if x.stored.IsZero() || !made.Before(x.stored) || !rests.Before(x.stored) || !x.stored.Before(x.began) {
			t.Errorf("the prediction was made at %v, of what ended at %v; a larger fleet was stored at %v and began at %v",
				made, rests, x.stored, x.began)
		}
	}
}

// Arithmetic is min(C/d), in jobs a second, of what TCP carries over the store's link.
func (l TranscodingLab) Arithmetic() float64 {
	return l.Store * 1e6 / 8 * 1448 / 1514 / float64(1000*l.Video.Out)
}

// WidestBand is the half-width that bands may have, as a share of their middle.
const WidestBand = .2

// Judge holds the lab to what is known of it: what ends growth has its name, bands are
// narrow, and the capacity of the store is that of its link.
func (l TranscodingLab) Judge(r Transcoded) error {
	var wrong []error
	if r.Bottleneck != l.Ends {
		wrong = append(wrong, fmt.Errorf("the bottleneck is %q, want %q", r.Bottleneck, l.Ends))
	}
	if r.Predicted == nil {
		return errors.Join(append(wrong, errors.New("nothing was predicted"))...)
	}
	for _, b := range r.Predicted.Sizes {
		if !(b.HalfWidth <= WidestBand) {
			wrong = append(wrong, fmt.Errorf("the band of %d nodes has a half-width of %.3f: %.3f to %.3f", b.Nodes,
				b.HalfWidth, b.Lower, b.Upper))
		}
	}
	for _, c := range r.Predicted.Limits {
		is, want := c.Capacity.Value/c.PerJob.Value, l.Arithmetic()
		if c.Resource == model.ResourceObjectPut && l.Ends == StoreEnds && math.Abs(is/want-1) > .1 {
			wrong = append(wrong, fmt.Errorf("the store takes results of %.3f jobs/s, want %.3f", is, want))
		}
	}
	return errors.Join(wrong...)
}

// Largest is what the largest fleet came to.
func (r Transcoded) Largest() TranscodedSize { return r.Sizes[len(r.Sizes)-1] }
