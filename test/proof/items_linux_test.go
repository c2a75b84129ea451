//go:build proof

package proof_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

var (
	itemKills = flag.Int("item-kills", 200, "how many tasks, agents and servers are killed while queues are drained")
	itemSeed  = flag.Uint64("item-seed", 0, "of the kills; 0 draws one")
)

// TestItems kills at random those who drain queues of items. Each item's result counts
// once, and none is lost. A tenth of the kills is one part.
func TestItems(t *testing.T) {
	const in = 10
	for part := range in {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			parts.Begin(t, *itemKills, *itemSeed)
			seed := *itemSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			s3test.UseCredentials(t)
			g := s3test.Start(t)
			read := func(key string) string { return g.Read(t, key) }
			program.NewItemKills(install(t).Installation, g.URL, read, seed+uint64(part), 300).Execute(*itemKills / in)
		})
	}
}
