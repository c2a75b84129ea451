package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// The test binary is the child, as scalebench is in life, and for one test it
// is the agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run-workload":
			os.Exit(childMain())
		case "be-agent":
			os.Exit(agentMain(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

func childMain() int {
	orders, reports, err := ControlPipes()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	reg := workload.NewRegistry(Kind(), workload.Kind{Name: "probe", New: func() workload.Workload { return &probe{} }})
	return Main(context.Background(), reg, orders, reports, os.Stdout, os.Stderr)
}

// probe is a workload with every way to behave.
type probe struct {
	Prepares string     `json:"prepares"` // shell script of Prepare
	Refuses  string     `json:"refuses"`  // why Prepare fails, as bad usage
	Script   string     `json:"script"`   // shell script of Run
	Cleans   string     `json:"cleans"`   // shell script of Cleanup
	Points   [][]string `json:"points"`   // metric, value
	Sample   string     `json:"sample"`
	Fail     string     `json:"fail"`
	Panic    string     `json:"panic"`
	Exit     int        `json:"exit"`  // ends the process in the middle of Run
	Block    bool       `json:"block"` // waits for the end of ctx
	Deaf     bool       `json:"deaf"`  // waits for ever
	Takes    int        `json:"takes"` // items, one a call, which it prints
}

func (p *probe) Estimate() time.Duration { return 0 }

func (p *probe) Validate() error {
	if p.Exit < 0 {
		return &model.InputError{Path: "exit", Problem: "is negative", Allowed: "0 to 255"}
	}
	return nil
}

func (p *probe) Prepare(ctx context.Context, env *workload.Env) error {
	if p.Refuses != "" {
		return fmt.Errorf("%w: %s", model.ErrUsage, p.Refuses)
	}
	return shell(ctx, p.Prepares, env)
}

func (p *probe) Cleanup(ctx context.Context, env *workload.Env) error {
	return shell(ctx, p.Cleans, env)
}

func (p *probe) Run(ctx context.Context, env *workload.Env) error {
	for _, pt := range p.Points {
		var v float64
		if _, err := fmt.Sscan(pt[1], &v); err != nil {
			return err
		}
		env.Report.Progress(pt[0], "op", v)
	}
	if p.Sample != "" {
		env.Report.Sample(model.Sample{Metric: p.Sample, Unit: "op/s", Value: 42, Better: model.Higher})
	}
	if o := env.Offer; o != nil {
		env.Report.Sample(model.Sample{Metric: "offered", Unit: "op/s", Value: o.Rate + float64(o.Seed), Better: model.Higher})
	}
	for range p.Takes {
		if env.Jobs == nil {
			return errors.New("no queue")
		}
		r, err := env.Jobs(ctx, jobs.Call{Take: 1})
		if err != nil {
			return err
		}
		for _, l := range r.Leases {
			if _, err := fmt.Fprintln(env.Stdout, l.Name); err != nil {
				return err
			}
		}
	}
	if p.Panic != "" {
		panic(p.Panic)
	}
	if p.Exit > 0 {
		os.Exit(p.Exit)
	}
	err := shell(ctx, p.Script, env)
	switch {
	case p.Deaf:
		select {}
	case p.Block:
		<-ctx.Done()
		return ctx.Err()
	case p.Fail != "":
		return errors.New(p.Fail)
	}
	return err
}

func shell(ctx context.Context, script string, env *workload.Env) error {
	if script == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Env, cmd.Stdout, cmd.Stderr = env.Environ, env.Stdout, env.Stderr
	err := cmd.Run()
	if cmd.ProcessState != nil {
		env.Report.ExitCode(cmd.ProcessState.ExitCode())
	}
	return err
}

// config returns a configuration with this test binary as the child.
func config(t *testing.T, params map[string]any) Config {
	t.Helper()
	return Config{
		Command: []string{os.Args[0], "run-workload"},
		Task:    "R/0001/0000", Node: "n1",
		Spec: model.Spec{
			Workload: "w", Kind: "probe", Params: params, Timeout: 30 * time.Second,
			OutputLimit: 1 << 16, ArtifactLimit: 1 << 20,
		},
		Dir: t.TempDir(), ArtifactDir: t.TempDir(),
		Environ: os.Environ(), KillGrace: 2 * time.Second,
	}
}

// start starts an attempt; it is waited for at the end of the test.
func start(t *testing.T, cfg Config) *Process {
	t.Helper()
	p, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Start(%v) = %v", cfg.Spec.Params, err)
	}
	t.Cleanup(func() {
		p.Kill(model.OutcomeCancelled)
		p.Wait()
	})
	return p
}

// begun starts an attempt, waits for it to be ready and lets it run.
func begun(t *testing.T, cfg Config) *Process {
	t.Helper()
	p := start(t, cfg)
	if err := <-p.Ready(); err != nil {
		t.Fatalf("Ready() gave %v", err)
	}
	if err := p.Begin(time.Now()); err != nil {
		t.Fatalf("Begin() = %v", err)
	}
	return p
}

// run takes an attempt from start to end.
func run(t *testing.T, params map[string]any) Outcome {
	t.Helper()
	return begun(t, config(t, params)).Wait()
}

// want compares outcome and error text; "" wants no error.
func want(t *testing.T, o Outcome, outcome model.Outcome, text string) {
	t.Helper()
	if o.Outcome != outcome || !strings.Contains(o.Error, text) || (text == "" && o.Error != "") {
		t.Errorf("outcome = %s, %q; want %s, %q (stderr: %s)", o.Outcome, o.Error, outcome, text, o.Stderr.Text)
	}
}
