package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
)

// checkLab notes what a lab says against its specification. Of one in which
// the schema found errors only a part is left: of that, what is wrong by
// itself is noted, and nothing that may follow from the rest being away.
func (c *checker) checkLab(e *Experiment) {
	if e.Fleet.Lab == nil {
		return
	}
	err := e.Fleet.Lab.Validate()
	if err == nil {
		return
	}
	path := []string{"fleet", "lab"}
	if c.clean(path...) {
		c.validateProblems(path, err)
		return
	}
	volumes := c.clean("fleet", "lab", "volumes")
	for _, fe := range labErrors(err) {
		at := slices.Concat(path, fieldPath(fe.Field))
		// What was complained about is away, and so found missing.
		if c.root.has(at) && c.clean(at...) && (volumes || !slices.Contains(at, "use")) {
			c.report(at, fe.Problem, fe.Allowed)
		}
	}
}

// labErrors returns the single errors of a lab.
func labErrors(err error) []*lab.FieldError {
	var joined interface{ Unwrap() []error }
	var fe *lab.FieldError
	switch {
	case errors.As(err, &joined):
		var all []*lab.FieldError
		for _, one := range joined.Unwrap() {
			all = append(all, labErrors(one)...)
		}
		return all
	case errors.As(err, &fe):
		return []*lab.FieldError{fe}
	}
	return nil
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
