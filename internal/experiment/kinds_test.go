package experiment

import (
	"context"
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// spin is a workload with parameters of every type that the schema maps.
type spin struct {
	Threads  int               `json:"threads" jsonschema:"minimum=1,maximum=64" jsonschema_description:"Threads."`
	Duration unit.Duration     `json:"duration" jsonschema_description:"How long."`
	Size     unit.Size         `json:"size,omitempty"`
	Rate     unit.Rate         `json:"rate,omitzero"`
	Kernel   string            `json:"kernel" jsonschema:"enum=integer,enum=float,enum=mixed"`
	Share    float64           `json:"share,omitempty" jsonschema:"minimum=0,maximum=1"`
	Small    int8              `json:"small,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Metrics  []metric          `json:"metrics,omitempty"`
	Workers  workload.Threads  `json:"workers,omitzero"`
}

type metric struct {
	Name string `json:"name" jsonschema:"required,minLength=1"`
	JSON string `json:"json,omitempty"`
	// Better has its values from its type and from a tag.
	Better model.Better `json:"better,omitempty" jsonschema:"enum=higher,enum=lower"`
}

func (s *spin) Validate() error {
	var errs []error
	if s.Duration < unit.Duration(100*time.Millisecond) {
		errs = append(errs, &model.InputError{Path: "duration", Problem: s.Duration.String() + " is too short", Allowed: "at least 100ms is needed"})
	}
	for _, m := range s.Metrics {
		if m.JSON == "" {
			errs = append(errs, &model.InputError{Path: "metrics[0].json", Problem: "no path", Allowed: "give a path"})
		}
	}
	return errors.Join(errs...)
}
func (s *spin) Estimate() time.Duration                      { return s.Duration.Std() }
func (s *spin) Prepare(context.Context, *workload.Env) error { return nil }
func (s *spin) Run(_ context.Context, _ *workload.Env) error { return nil }

// shell is a workload that cannot say how long it takes.
type shell struct {
	Command string `json:"command" jsonschema:"required,minLength=1"`
}

func (s *shell) Validate() error                              { return nil }
func (s *shell) Estimate() time.Duration                      { return 0 }
func (s *shell) Prepare(context.Context, *workload.Env) error { return nil }
func (s *shell) Run(_ context.Context, _ *workload.Env) error { return nil }

// writer is a workload that uses a volume.
type writer struct {
	Volume  string    `json:"volume,omitempty"`
	Volumes []string  `json:"volumes,omitempty"`
	Path    string    `json:"path,omitempty"`
	Size    unit.Size `json:"size,omitempty"`
}

func (w *writer) Validate() error                              { return nil }
func (w *writer) Estimate() time.Duration                      { return 0 }
func (w *writer) Prepare(context.Context, *workload.Env) error { return nil }
func (w *writer) Run(_ context.Context, _ *workload.Env) error { return nil }
func (w *writer) UsesVolumes(int) (names []string, size unit.Size, ok bool) {
	if len(w.Volumes) > 0 {
		return w.Volumes, w.Size, true
	}
	return []string{w.Volume}, w.Size, w.Path == ""
}

// hunt is a study without parameters.
type hunt struct{}

func (*hunt) Check() ([]caveat.Caveat, error)                            { return nil, nil }
func (*hunt) Answer(context.Context, study.Input) (*study.Answer, error) { return nil, nil }
func (*hunt) Plan(study.Setup) (*study.Plan, error)                      { return &study.Plan{}, nil }

// sweep is a study with keys that may stand at the top of a file.
type sweep struct {
	hunt
	Sizes      []int       `json:"sizes,omitempty" jsonschema:"minItems=1,maxItems=3,uniqueItems=true,minimum=1" jsonschema_description:"How many."`
	Interleave bool        `json:"interleave,omitempty"`
	Rotate     bool        `json:"rotate"`
	Only       model.Phase `json:"only,omitempty"`
}

func (s *sweep) Check() ([]caveat.Caveat, error) {
	if len(s.Sizes) > 0 && s.Sizes[0] == 7 {
		return nil, &model.InputError{Path: "sizes.0", Problem: "7 is one too many"}
	}
	return nil, nil
}

func testKinds() Kinds {
	return Kinds{Workloads: workload.NewRegistry(
		workload.Kind{Name: "spin", Summary: "Spins.", New: func() workload.Workload {
			return &spin{Threads: 1, Duration: unit.Duration(5 * time.Second), Kernel: "mixed"}
		}},
		workload.Kind{Name: "shell", Summary: "Runs a command.", New: func() workload.Workload { return &shell{} }},
	), Studies: study.Registry{
		{Name: "hunt", Summary: "Searches.", Phases: []model.Phase{model.Search}, New: func() study.Study { return &hunt{} }},
		{Name: "sweep", Summary: "Sweeps.", Phases: []model.Phase{model.Serial, model.Parallel}, Top: []string{"sizes", "interleave", "rotate"},
			New: func() study.Study { return &sweep{Rotate: true} }},
	}}
}
