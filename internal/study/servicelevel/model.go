package servicelevel

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Model is a model file with the measured cells of a volume, over all nodes that have one
// of this name: what may be expected of such volumes. No such cell is a model.ErrUsage.
func (r *Result) Model(name, volume string, read time.Time) ([]byte, error) {
	m := &levels.Model{Name: name, Source: levels.Source{Title: "measured: " + r.title,
		Read: read.UTC().Format(time.DateOnly)}}
	for _, c := range r.Cells {
		if c.Volume != volume || c.burst {
			continue
		}
		i := slices.IndexFunc(m.Cells, func(x levels.Cell) bool {
			return x.Size.Bytes() == c.Size &&
				x.Reads == float64(c.Reads)
		})
		if i < 0 {
			i, m.Cells = len(m.Cells), append(m.Cells, levels.Cell{Size: unit.Size(c.Size), Reads: float64(c.Reads)})
		}
		x := &m.Cells[i]
		x.Ops = append(x.Ops, c.Ops.Repetitions...)
		x.Depth, x.AtDepth = max(x.Depth, c.Depth), x.AtDepth || !c.Saturated
	}
	if len(m.Cells) == 0 {
		return nil, fmt.Errorf("%w: the run has no cell of the volume %q that a model could have", model.ErrUsage, volume)
	}
	return levels.WriteModel(m)
}
