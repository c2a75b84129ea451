package network

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// state is what Prepare leaves for Run.
type state struct {
	set     settings
	object  *object  // nil where nothing is sent from this node
	server  *server  // nil without clients
	session *session // nil where there is nothing to measure
	iperf3  *iperf3  // nil with the built-in tool
}

// prepare makes what is needed for the task's part. After an error nothing is
// left.
func prepare(ctx context.Context, set settings, env *workload.Env) (*state, error) {
	if env.Role != model.RoleServe && len(env.Peers) == 0 {
		return nil, errors.New("there is no node to connect to: network measures between nodes, and needs a fleet of at least 2")
	}
	st := &state{set: set}
	if err := st.build(ctx, env); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

func (st *state) build(ctx context.Context, env *workload.Env) (err error) {
	measures := env.Role != model.RoleServe
	if st.set.tool == Iperf3 {
		if st.iperf3, err = newIperf3(env); err != nil {
			return err
		}
	} else if st.set.receive && len(env.Clients) > 0 || st.set.send && measures {
		if st.object, err = newObject(ctx, env.Dir, st.set.size); err != nil {
			return err
		}
	}
	if len(env.Clients) > 0 {
		if st.server, err = listen(ctx, env, st.set, st.object); err != nil {
			return err
		}
	}
	if st.iperf3 != nil && st.server != nil {
		if err = st.iperf3.serve(ctx, env, st.server, st.set.port); err != nil {
			return err
		}
	}
	if measures {
		st.session, err = newSession(st.set, env, st.object)
	}
	return err
}

// run measures and serves at the same time, and returns when both are over.
func (st *state) run(ctx context.Context, env *workload.Env) error {
	both, ctx := errgroup.WithContext(ctx)
	if st.session != nil {
		measure := st.session.builtin
		if st.iperf3 != nil {
			measure = st.iperf3.measure(st.session, env)
		}
		both.Go(func() error { return st.session.run(ctx, measure) })
	}
	if st.server != nil {
		both.Go(func() error { return st.server.clients.wait(ctx, st.set.stall) })
	}
	return errors.Join(both.Wait(), st.close())
}

// close stops serving and frees the object. It may be called again.
func (st *state) close() error {
	var errs []error
	if st.server != nil {
		errs = append(errs, st.server.close())
	}
	if st.iperf3 != nil {
		st.iperf3.stop()
	}
	if st.object != nil {
		errs = append(errs, st.object.close())
	}
	st.server, st.iperf3, st.object = nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("ending the network workload: %w", err)
	}
	return nil
}
