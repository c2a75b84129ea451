package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/monitor"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study/pressure"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// recentReadings is how many of this host's latest readings are kept: there are more
// looks than readings.
const recentReadings = 10

// host shows this host.
func (w *levelWatcher) host(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("asking for the name of this host: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(w.opt.Volumes)) {
		if _, err := os.Stat(w.opt.Volumes[name]); err != nil {
			return usageError("--volume %s=%s: %w; give a device or a folder that is there", name, w.opt.Volumes[name],
				errors.Unwrap(err))
		}
	}
	began := time.Now()
	rec := monitor.New(monitor.Config{Volumes: w.opt.Volumes, Recent: recentReadings}).Start(ctx)
	defer rec.Stop()
	if err := uncounted(w.opt.Volumes, rec.Series(began)); err != nil {
		return err
	}
	return w.follow(ctx, func(context.Context) ([]telemetry.Recording, error) {
		return namedOnly(pressure.OfHost(host, began, rec.Series(began), false), w.opt.Volumes), nil
	})
}

// uncounted refuses volumes of which the kernel counts nothing.
func uncounted(volumes map[string]string, series []model.HostSeries) error {
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		if !slices.ContainsFunc(series, func(s model.HostSeries) bool {
			return strings.HasPrefix(s.Metric, observe.VolumePrefix+name+".")
		}) {
			return usageError("--volume %s=%s: the kernel counts no operations of what holds it; give the block device "+
				"below it, such as %s=/dev/sda", name, volumes[name], name)
		}
	}
	return nil
}

// namedOnly leaves out disks beside volumes that the user named.
func namedOnly(all []telemetry.Recording, volumes map[string]string) []telemetry.Recording {
	if len(volumes) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(r telemetry.Recording) bool {
		_, named := volumes[r.Service]
		return !named && r.Service != telemetry.Network && r.Service != telemetry.Processor
	})
}

// agents shows nodes of a server: those that the options name, or those of a run.
func (w *levelWatcher) agents(ctx context.Context, run string) error {
	if len(w.opt.Volumes) > 0 {
		return usageError("--volume names devices of this host; an agent shows those that it was started with")
	}
	return w.c.withService(ctx, toRead, func(ctx context.Context, s service) error {
		n := nodeWatch{say: w.screen.say, service: s, shared: make(map[string]bool),
			latest: make(map[model.NodeID][]telemetry.Recording)}
		if err := n.await(ctx, w.opt.Nodes, run); err != nil {
			return err
		}
		return w.follow(ctx, n.look)
	})
}

// nodeWatch reads nodes of a server.
type nodeWatch struct {
	say     func(format string, args ...any)
	service control.Service
	nodes   []model.NodeID
	latest  map[model.NodeID][]telemetry.Recording
	after   uint64          // the answer before
	shared  map[string]bool // nodes that share their machine with others
	run     model.RunID     // that ends the watch when it ends; empty: nothing does
	asked   time.Time       // when it was looked whether the run goes on
	began   time.Time
	settled bool      // all nodes have sent readings, or it was said which have not
	away    time.Time // since when the server does not answer; zero: it does
}

// await chooses the nodes. Those of a run come up with it.
func (w *nodeWatch) await(ctx context.Context, patterns []string, run string) error {
	for said := false; ; said = true {
		w.nodes = nil
		err := w.choose(ctx, patterns, run)
		if w.run == "" || !errors.Is(err, model.ErrUnavailable) {
			w.began = time.Now()
			return err
		}
		if !said {
			w.say("waiting for the nodes of run %s", w.run)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(nodesLook):
		}
	}
}

// choose finds the nodes: by patterns, and of a run.
func (w *nodeWatch) choose(ctx context.Context, patterns []string, name string) error {
	infos, err := w.service.Nodes(ctx)
	if err != nil {
		return err
	}
	if name != "" {
		if infos, err = w.ofRun(ctx, name, infos); err != nil {
			return err
		}
	}
	machines := make(map[string]int)
	for _, n := range infos {
		if n.Status.Up() {
			machines[n.Machine()]++
		}
	}
	delete(machines, "") // a node of which it is not known is alone
	var lost []string
	for _, n := range infos {
		if !matches(patterns, string(n.ID)) {
			continue
		}
		if !n.Status.Up() {
			lost = append(lost, fmt.Sprintf("%s is %s", n.ID, n.Status))
			continue
		}
		w.nodes = append(w.nodes, n.ID)
		w.shared[string(n.ID)] = n.Labels[model.LabelFleet] == model.FleetLab || machines[n.Machine()] > 1
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(infos, func(n model.NodeInfo) bool { return matches([]string{pattern}, string(n.ID)) }) {
			return usageError("--node %s: there is no such node; `scalebench nodes` lists them", pattern)
		}
	}
	if len(w.nodes) == 0 || w.run != "" && len(lost) > 0 {
		return fmt.Errorf("%w: no node to watch is here%s; `scalebench nodes` lists them", model.ErrUnavailable,
			strings.TrimSuffix(": "+num.List(lost), ": "))
	}
	return nil
}

// ofRun are the nodes of a run that is under way.
func (w *nodeWatch) ofRun(ctx context.Context, name string, infos []model.NodeInfo) ([]model.NodeInfo, error) {
	run, err := w.service.Run(ctx, name)
	if err != nil {
		return nil, err
	}
	if run.State.Final() {
		return nil, usageError("run %s is %s, and watch shows what is under way; `scalebench servicelevel pressure %s` "+
			"shows what was recorded", run.ID, run.State, run.ID)
	}
	data, err := w.service.Data(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	w.run = run.ID
	return slices.DeleteFunc(infos, func(n model.NodeInfo) bool {
		return !slices.ContainsFunc(data.Nodes, func(of model.Node) bool { return of.ID == n.ID })
	}), nil
}

// matches reports whether a name fits one of the patterns, or there are none.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		hit, err := path.Match(p, name)
		return p == name || err == nil && hit
	})
}

const (
	// nodesWithin is how long nodes may take to send the first readings: an order that
	// is lost comes again.
	nodesWithin = 8 * time.Second
	// answerSoon is how long the server may take to answer, before that is said.
	answerSoon = 2 * time.Second
	// nodesLook is how often it is looked whether the nodes of a run are there.
	nodesLook = 500 * time.Millisecond
	// runLook is how often it is looked whether the run goes on.
	runLook = 2 * time.Second
)

// look returns what the nodes read in the last seconds; nothing until all have sent
// something, or had time enough.
func (w *nodeWatch) look(ctx context.Context) (out []telemetry.Recording, err error) {
	soon, cancel := context.WithTimeout(ctx, answerSoon)
	defer cancel()
	read, err := w.service.Readings(soon, w.nodes, w.after)
	if err == nil {
		err = w.over(soon)
	}
	if late := errors.Is(err, context.DeadlineExceeded); w.settled && ctx.Err() == nil &&
		(late || errors.Is(err, model.ErrUnavailable)) {
		return nil, w.wait()
	}
	if err != nil {
		return nil, err
	}
	w.away, w.after = time.Time{}, read.Last
	for _, r := range read.Nodes {
		w.latest[r.Node] = pressure.OfHost(string(r.Node), r.Began, r.Host, w.shared[string(r.Node)])
	}
	for _, n := range w.nodes {
		out = append(out, w.latest[n]...)
	}
	if w.settled {
		return out, nil
	}
	silent := slices.DeleteFunc(slices.Clone(w.nodes), func(n model.NodeID) bool { return len(w.latest[n]) > 0 })
	if len(silent) > 0 && time.Since(w.began) < nodesWithin {
		return nil, nil
	}
	w.settled = true
	if len(silent) == len(w.nodes) {
		return nil, fmt.Errorf("%w: no node has sent readings within %s; agents of older versions send none, and an agent "+
			"has none without a volume, network or processor of its own", model.ErrUnavailable, num.Brief(nodesWithin))
	}
	for _, n := range silent {
		w.say("! node %s sends no readings; its agent may be of an older version", n)
	}
	return out, nil
}

// over ends the watch when the run has ended.
func (w *nodeWatch) over(ctx context.Context) error {
	if w.run == "" || time.Since(w.asked) < runLook {
		return nil
	}
	w.asked = time.Now()
	run, err := w.service.Run(ctx, string(w.run))
	if err != nil || !run.State.Final() {
		return err
	}
	w.say("run %s is %s", run.ID, run.State)
	return errWatchOver
}

// wait says that the server is away, and gives up when that lasts.
func (w *nodeWatch) wait() error {
	if w.away.IsZero() {
		w.away = time.Now()
		w.say("! the server does not answer; waiting for it")
	}
	if time.Since(w.away) > control.AwaitPatience {
		return model.Unavailablef("the server did not come back within %s", num.Brief(control.AwaitPatience))
	}
	return nil
}
