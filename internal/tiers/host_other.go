//go:build !linux

package tiers

import "errors"

// openHost: there is nothing to read.
func openHost(_ Config, d *doubts) *host {
	d.failed("host", errors.New("services can be watched on Linux only"))
	return &host{doubts: d}
}
