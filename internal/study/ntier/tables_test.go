package ntier

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
)

// TestSmallDemands: a part of a byte is no 0.
func TestSmallDemands(t *testing.T) {
	v := .005
	f := Finding{Answer: bottleneck.Answer{Laws: &bottleneck.Laws{Demands: []bottleneck.Demand{{Resource: bottleneck.Resource{Tier: "db", Kind: bottleneck.LinkOut}, Unit: "byte", Below: &v, Capacity: 1000, Hosts: 1}}}}}
	if text := fmt.Sprint(f.demandsTable().Rows); !strings.Contains(text, "0.005") {
		t.Errorf("a demand of 0.005 bytes is %s", text)
	}
}
