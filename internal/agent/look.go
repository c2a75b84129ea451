package agent

import (
	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/wire"
	"github.com/scalebench/scalebench/internal/workload"
)

// look tells the server what this node lacks of what a run needs: as a task
// would find it that begins now. It does not keep other orders waiting: a PATH
// may lead to a file server that does not answer. An order that comes meanwhile
// comes again.
func (a *Agent) look(o wire.Order) {
	if !a.looking.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer a.looking.Store(false)
		answer := wire.Missing{Node: a.cfg.Node.ID, Inquiry: o.Inquiry}
		for i, n := range o.Needs {
			lacks := len(environ.Missing(a.cfg.Environ, []string{n.Variable})) > 0
			if n.Variable == "" {
				lacks = workload.Tool{Name: n.Program, Path: n.Path}.Missing(a.cfg.Environ)
			}
			if lacks {
				answer.Needs = append(answer.Needs, i)
			}
		}
		if err := a.link.Missing(answer); err != nil {
			a.log.Debug("telling what is missing here", "err", err)
		}
	}()
}
