package ntier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/microbench"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// WorkloadKind is that of the workload with the users that are varied.
const WorkloadKind = "users"

// levelMix is the parameter of that workload which says what users do.
const levelMix = "mix"

// Design implements study.Designer: each configuration with each number of users,
// as often as there are trials.
func (p *Params) Design(setup study.Setup) (study.Design, error) {
	if len(p.Users) == 0 || len(p.Tiers) == 0 {
		return nil, refuse(map[bool]string{true: "users", false: "tiers"}[len(p.Users) == 0],
			"there is none: nothing would be measured", "tiers: [web, app, db] and users: [100, 200, 400, 800]")
	}
	workload, err := workloadOf(setup)
	if err != nil {
		return nil, err
	}
	if err := p.tiersIn(setup); err != nil {
		return nil, err
	}
	if len(p.Configurations) == 0 {
		p.Configurations = []string{p.asCounted(setup)}
		if err := p.checkGrow(); err != nil {
			return nil, err
		}
	}
	all := append(p.asked(workload, setup, nil, p.Configurations), microbench.Alone(setup, Phase)...)
	if !p.Proof && p.Grow == nil && len(p.Sizes) == 0 {
		return study.Fixed(all), nil
	}
	return &sequential{Params: p, setup: setup, first: all, considered: make(map[string]bool)}, nil
}

// LeastSubjects implements study.Sized.
func (p *Params) LeastSubjects() int { return 1 }

// workloadOf is the workload of which the users are varied: the only one of its
// kind, or the only one.
func workloadOf(setup study.Setup) (string, error) {
	of := slices.DeleteFunc(slices.Clone(setup.Workloads), func(w study.Workload) bool { return w.Kind != WorkloadKind })
	if len(of) == 0 {
		of = setup.Workloads
	}
	if len(of) != 1 {
		return "", refuse("kind", fmt.Sprintf("there are %s that could be measured", num.Count(len(of), "workload")),
			"one workload of the kind users; for several mixes, write mixes: [browse_only, read_write] below study")
	}
	return of[0].Name, nil
}

// tiersIn holds the tiers to the services of the file.
func (p *Params) tiersIn(setup study.Setup) error {
	var names []string
	for _, s := range setup.Services {
		names = append(names, s.Name)
	}
	for i, tier := range p.Tiers {
		if !slices.Contains(names, tier) {
			return refuse(fmt.Sprintf("tiers.%d", i), fmt.Sprintf("there is no service %q on nodes of the fleet", tier),
				"services of this file with on: "+strings.Join(names, ", "))
		}
	}
	for service := range p.Sizes {
		if !slices.Contains(names, service) {
			return refuse("sizes."+service, fmt.Sprintf("there is no service %q on nodes of the fleet", service),
				"services of this file with on: "+strings.Join(names, ", "))
		}
	}
	return nil
}

// asCounted is the configuration with as many hosts of each tier as the file counts.
func (p *Params) asCounted(setup study.Setup) string {
	var counts []string
	for _, tier := range p.Tiers {
		i := slices.IndexFunc(setup.Services, func(s study.Service) bool { return s.Name == tier })
		counts = append(counts, strconv.Itoa(max(1, setup.Services[i].Count)))
	}
	return strings.Join(counts, "-")
}

// treatments are all trials of configurations in their order: those of each mix after those of
// the one before, as what writes changes what is read (the paper, section II-A).
func (p *Params) treatments(workload string, setup study.Setup, configurations []string) (out []study.Treatment) {
	rng := rand.New(rand.NewPCG(uint64(setup.Seed), 0x47e5)) //nolint:gosec // repeatable on purpose
	mixes := p.Mixes
	if len(mixes) == 0 {
		mixes = []string{""}
	}
	for _, mix := range mixes {
		out = append(out, p.ofMix(mix, workload, setup, configurations, rng)...)
	}
	return out
}

// ofMix are the trials of one mix; empty: that of the workload.
func (p *Params) ofMix(mix, workload string, setup study.Setup, configurations []string,
	rng *rand.Rand) []study.Treatment {
	var out []study.Treatment
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, text := range configurations {
			c, _ := ParseConfiguration(text, p.Tiers) // validated
			c.Variant = mix
			for _, users := range slices.Sorted(slices.Values(p.Users)) {
				out = append(out, p.treatment(workload, c, users, trial))
			}
		}
	}
	shuffle := func(part []study.Treatment) {
		rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	}
	switch size := len(out) / max(1, setup.Trials); p.Order {
	case OrderRandom:
		shuffle(out)
	case OrderBlocks:
		for trial := range setup.Trials {
			shuffle(out[trial*size : (trial+1)*size])
		}
	}
	return out
}

// treatment is one trial. The variant of its configuration is the mix.
func (p *Params) treatment(workload string, c Configuration, users, trial int) study.Treatment {
	t := study.Treatment{Phase: Phase, Label: label{configuration: c, users: users}.String(), Workload: workload,
		Trial: trial, Block: trial,
		Levels: map[string]any{"users": users}, Services: make(map[string]study.ServiceLevel)}
	if c.Variant != "" {
		t.Levels[levelMix] = c.Variant
	}
	for _, set := range c.sets() {
		for _, i := range set {
			t.Services[p.Tiers[i]] = study.ServiceLevel{Count: c.Counts[i], On: p.labels(c), Hosts: p.Tiers[set[0]]}
		}
	}
	return t
}
