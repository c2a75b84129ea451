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
			"one workload of the kind users")
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

// treatments are all trials of configurations in their order.
func (p *Params) treatments(workload string, setup study.Setup, configurations []string) []study.Treatment {
	var out []study.Treatment
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, text := range configurations {
			c, _ := ParseConfiguration(text, p.Tiers) // validated
			for _, users := range slices.Sorted(slices.Values(p.Users)) {
				out = append(out, p.treatment(workload, c, users, trial))
			}
		}
	}
	rng := rand.New(rand.NewPCG(uint64(setup.Seed), 0x47e5)) //nolint:gosec // repeatable on purpose
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

// treatment is one trial.
func (p *Params) treatment(workload string, c Configuration, users, trial int) study.Treatment {
	t := study.Treatment{Phase: Phase, Label: label{configuration: c, users: users}.String(), Workload: workload,
		Trial: trial, Block: trial,
		Levels: map[string]any{"users": users}, Services: make(map[string]study.ServiceLevel)}
	for _, set := range c.sets() {
		for _, i := range set {
			t.Services[p.Tiers[i]] = study.ServiceLevel{Count: c.Counts[i], On: p.labels(c), Hosts: p.Tiers[set[0]]}
		}
	}
	return t
}
