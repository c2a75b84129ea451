package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/jobs"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/workload"
)

// Prepare implements workload.Workload. What is wrong is found here, before others wait.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	if env.Jobs == nil {
		return errors.New("jobs: the server keeps no queues of items: give it the version of this node")
	}
	if missing := environ.Missing(env.Environ, p.PassEnv); len(missing) > 0 {
		return fmt.Errorf("pass_env names %s, which the agent's environment lacks: set it where the agent starts",
			strings.Join(missing, ", "))
	}
	if _, err := p.Slots.On(cgroup.Cores()); err != nil {
		return fmt.Errorf("slots: %w", err)
	}
	if p.Function != "" && p.Function != Sleep {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), p.slots()+1)) // functions compute here
	}
	if err := p.openStore(ctx, env); err != nil {
		return err
	}
	var q *messages
	if p.NATS != nil { // before anything is put, of which the store sends a message
		var err error
		if q, err = p.openMessages(ctx, env); err != nil {
			return err
		}
		p.source = q
	}
	names, err := p.nameItems(ctx, env)
	switch {
	case err != nil:
	case q != nil:
		err = p.announce(ctx, env, q, names)
	default:
		p.source, err = p.openBuiltin(ctx, env, names)
	}
	if err != nil || p.Duration > 0 {
		return err
	}
	reply, err := env.Jobs(ctx, jobs.Call{})
	p.earlier = reply.State.Done + reply.State.SetAside
	return err
}

// openStore opens the buckets that are used. Results that do not stay go into a folder of
// the task's own, which a later task removes if this one cannot.
func (p *Params) openStore(ctx context.Context, env *workload.Env) (err error) {
	if p.Put != nil {
		if p.to, err = store.New(p.config(p.putBucket(), env)); err != nil {
			return err
		}
		if p.Put.Keep {
			err = p.to.Reach(ctx)
		} else {
			err = p.to.Prepare(ctx)
		}
		if err != nil {
			return err
		}
	}
	if !p.gets() {
		return nil
	}
	if p.to != nil && p.getBucket() == p.putBucket() {
		p.from = p.to
		return nil
	}
	if p.from, err = store.New(p.config(p.getBucket(), env)); err != nil {
		return err
	}
	return p.from.Reach(ctx)
}

// targets are the buckets that are used, each once.
func (p *Params) targets() []*store.Target {
	all := slices.Compact([]*store.Target{p.from, p.to})
	return slices.DeleteFunc(all, func(t *store.Target) bool { return t == nil })
}

// nameItems returns the names of the items; none where they have numbers, or are messages
// that others send. What this node puts for them is there when it returns.
func (p *Params) nameItems(ctx context.Context, env *workload.Env) (names []string, err error) {
	switch {
	case p.Stage != nil:
		return p.stage(ctx, env)
	case p.Items == nil:
		return nil, nil
	case p.Items.Prefix == "" || env.Part > 0: // the first node names them
		return p.Items.List, nil
	}
	err = p.from.List(ctx, strings.TrimPrefix(p.Items.Prefix, "/"), func(key string, _ int64) {
		if !strings.HasSuffix(key, "/") && !strings.HasSuffix(key, "/"+store.LeaseName) && !p.isResult(key) {
			names = append(names, key)
		}
	})
	if err == nil && len(names) == 0 {
		where := " below " + strconv.Quote(p.Items.Prefix)
		if p.Items.Prefix == "/" {
			where = ""
		}
		err = fmt.Errorf("bucket %q has no object%s: put some there, or have stage do it", p.getBucket(), where)
	}
	return names, err
}

// key is that of an item's object.
func (p *Params) key(name string) string {
	if p.Get == nil || p.Stage != nil || p.NATS != nil || p.Items != nil && p.Items.Prefix != "" {
		return name
	}
	return p.Get.Prefix + name
}

// Cleanup implements workload.Cleaner: it removes results that do not stay. What it does
// not get done, a later task does.
func (p *Params) Cleanup(ctx context.Context, _ *workload.Env) error {
	if p.source != nil {
		p.source.close()
	}
	if p.from != nil && p.from != p.to {
		p.from.Close()
	}
	if p.to == nil {
		return nil
	}
	return p.to.Remove(ctx)
}
