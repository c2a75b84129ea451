package experiment

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
)

// checkLab notes what a lab says against its specification. A specification
// with errors is not asked: what is left of it would only be misunderstood.
func (c *checker) checkLab(e *Experiment) {
	path := []string{"fleet", "lab"}
	if e.Fleet.Lab == nil || !c.clean(path...) {
		return
	}
	if err := e.Fleet.Lab.Validate(); err != nil {
		c.validateProblems(path, err)
	}
}

// checkServices notes services without a lab, and impossible ones.
func (c *checker) checkServices(e *Experiment) {
	path := []string{"services"}
	if len(e.Services) == 0 || !c.clean("fleet") || !c.clean(path...) {
		return
	}
	if e.Fleet.Lab == nil {
		at := c.root.member("services").at
		c.reportAt(at, path, "only a lab has hosts for services", "use fleet: {lab: …}, or start the service yourself and give its address to the workloads")
		return
	}
	if err := e.Fleet.Lab.ValidateServices(e.Services); err != nil {
		c.validateProblems(path, err)
	}
}

// checkSizes notes fleet sizes that are out of order or larger than the fleet.
func (c *checker) checkSizes(e *Experiment) {
	path := []string{"sizes"}
	if len(e.Sizes) == 0 || !c.clean(path...) {
		return
	}
	if c.clean("evaluations") && !e.Has(model.Parallel) {
		c.report(path, "only the parallel phase is repeated at other sizes", "add parallel to evaluations")
		return
	}
	most := 0
	if c.clean("fleet") {
		most = e.Fleet.Size()
	}
	for i, n := range e.Sizes {
		at := append(slices.Clone(path), strconv.Itoa(i))
		switch {
		case i > 0 && n <= e.Sizes[i-1]:
			c.report(at, fmt.Sprintf("%d comes after %d", n, e.Sizes[i-1]), "sizes must ascend")
		case most > 0 && n > most:
			c.report(at, fmt.Sprintf("%d is larger than the fleet", n), fmt.Sprintf("allowed is at most %d", most))
		}
	}
}
