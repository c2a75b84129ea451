package resources

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

// caveats defines what a run cannot tell.
var caveats = caveat.Table{noVerdict, unmeasured, testedUpTo, networkUnknown, networkAlike, networkBetween, commonEnd}

var (
	noVerdict  = caveat.Define("no_verdict", finding.String)
	unmeasured = caveat.Define("not_measured", func(a resourceList) string {
		was := "was"
		if len(a.Resources) > 1 {
			was = "were"
		}
		return fmt.Sprintf("%s %s not measured, so that a limit there cannot be seen", num.List(a.Resources), was)
	})
	testedUpTo = caveat.Define("tested_up_to", func(a tested) string {
		return fmt.Sprintf("%s: measured with up to %s only; a larger fleet may meet a limit", num.List(a.Resources),
			num.Count(a.Nodes, string(a.Of)))
	})
	networkUnknown = caveat.Define("behind_network", func(a behind) string {
		why := "which was not measured"
		if a.Measured {
			why = "which has no verdict"
		}
		return fmt.Sprintf("%s is reached through the network, %s: object storage may not be the cause", a.Resource, why)
	})
	networkAlike = caveat.Define("behind_network", func(a alike) string {
		amount := func(v float64) string {
			return evaluation.AmountText(v, evaluation.ByteRate, model.ResourceNetworkSend)
		}
		return fmt.Sprintf("%s: %s shows the same limit (%s and %s); object storage may not be the cause",
			a.Resource, a.Network, amount(a.Total), amount(a.NetworkTotal))
	})
	networkBetween = caveat.Define("behind_network", func(a between) string {
		return fmt.Sprintf("%s: the network was measured between nodes, and not on the way to the store: the store's own "+
			"link may be the limit", a.Resource)
	})
	commonEnd = caveat.Define("common_end", func(a endOfPairs) string {
		return fmt.Sprintf("%s: all %d pairs end at %s, so that the limit may be %s of that node, and not what the others "+
			"send or receive: give it more, or measure pairs without a common end", a.Resource, a.Pairs, a.End, a.Other)
	})
)

// category is what can be bought: the beginning of a resource's name.
type category string

type (
	// finding has no verdict; Why is the first reason, nil: not known.
	finding struct {
		Resource caveat.Verbatim `json:"resource,omitempty"`
		Workload caveat.Verbatim `json:"workload"`
		Metric   caveat.Verbatim `json:"metric,omitempty"`
		Why      *caveat.Caveat  `json:"why,omitempty"`
	}
	resourceList struct {
		Resources []category `json:"resources"`
	}
	tested struct {
		Resources []caveat.Verbatim   `json:"resources"`
		Nodes     int                 `json:"nodes"`
		Of        evaluation.Subjects `json:"of"`
	}
	behind struct {
		Resource caveat.Verbatim `json:"resource"`
		Measured bool            `json:"measured"` // the network was, without a verdict
	}
	// alike: totals are in byte/s.
	alike struct {
		Resource     caveat.Verbatim `json:"resource"`
		Total        float64         `json:"total"`
		Network      caveat.Verbatim `json:"network"`
		NetworkTotal float64         `json:"network_total"`
	}
	between struct {
		Resource caveat.Verbatim `json:"resource"`
	}
	endOfPairs struct {
		Resource caveat.Verbatim `json:"resource"`
		Pairs    int             `json:"pairs"`
		End      model.NodeID    `json:"end"`
		Other    caveat.Verbatim `json:"other"` // resource of that node
	}
)

func (a finding) String() string {
	f := evaluation.Finding{Resource: string(a.Resource), Workload: string(a.Workload), Metric: string(a.Metric)}
	name := f.About()
	switch {
	case a.Resource != "":
		name += " (" + f.Workload + " " + f.Metric + ")"
	case a.Metric == "":
		name = f.Workload
	}
	if a.Why == nil {
		return name + ": verdict unknown"
	}
	reason := doc.Words(evaluation.Reason(*a.Why))
	if a.Why.Severity == model.Problem {
		reason = caveat.Unknown + reason
	}
	return name + ": " + reason
}

// total is what all subjects of a finding had together, in byte/s.
func total(f evaluation.Finding) float64 {
	_, factor := evaluation.NormalUnit(f.Unit)
	return factor * *f.Parallel.Total
}
