package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/master"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/postgres"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/unit"
)

// serverOptions configure a server, whether it is a process of its own or
// embedded in a command.
type serverOptions struct {
	Listen    string        `flag:"listen" jsonschema_description:"Address of the embedded queue."`
	Advertise commaList     `flag:"advertise" jsonschema_description:"HOST:PORT for agents to connect to (default: the listen address)."`
	Insecure  bool          `flag:"insecure-no-tls" jsonschema_description:"No TLS, even on addresses other than loopback: results can be read on the network."`
	NATS      commaList     `flag:"nats" jsonschema_description:"Use this external NATS cluster: nats://A,nats://B,…"`
	NATSOpen  bool          `flag:"insecure-open-nats" jsonschema_description:"Accept an external cluster without authentication."`
	Lease     unit.Duration `flag:"lease" jsonschema_description:"A node counts as lost after this long without a heartbeat."`
	Guest     bool          // embedded in a command; see master.Config
	// Bounds of what is kept; see master.Config.
	RunQuota   unit.Size `flag:"run-quota" jsonschema_description:"What a run may keep of the output of its tasks; what is more is cut; 0B: no bound."`
	StoreQuota unit.Size `flag:"store-quota" jsonschema_description:"What the store may hold before runs pause; 0B: no bound."`
	KeepFree   unit.Size `flag:"keep-free" jsonschema_description:"What stays free on the store's disk: runs pause below (default: 5 %, at most 256MiB)."`
}

// defaultRunQuota is for runs of commands that bring their own server, too.
const defaultRunQuota = 10 * unit.GiB

// instance is a running server: store, queue and master. Close ends it in
// order; runs in progress become interrupted.
type instance struct {
	*master.Master
	info queue.ServerInfo
	// interrupted are this server's runs that could be resumed when it started,
	// the latest first.
	interrupted []model.Run
	// halt ends the runs in progress in order. What is stored can be read
	// until Close.
	halt    func() error
	closers []func() error // in order of opening
	heap    heapLimit
}

// startServer opens the data directory and starts a server on it. It fails
// with errLocked when one is running there already.
func (c *common) startServer(ctx context.Context, opt serverOptions) (_ *instance, err error) {
	in := &instance{}
	defer func() {
		if err != nil {
			_ = in.Close() // the error that is returned matters more
		}
	}()
	if err := c.needData(); err != nil {
		return nil, err
	}
	unlock, err := lockFile(c.paths.at(lockName))
	if err != nil {
		return nil, err
	}
	in.onClose(func() error { unlock(); return nil })
	c.sweepLabs(ctx)
	// An address that a killed server left would lead others astray.
	_ = os.Remove(c.paths.at(serverInfoName))

	st, err := c.openStore(ctx)
	if err != nil {
		return nil, err
	}
	in.onClose(st.Close)
	if room, err := st.Room(ctx); err == nil && room.Used < 0 && (opt.StoreQuota > 0 || opt.KeepFree > 0) {
		return nil,
			usageError("--store-quota and --keep-free need a store on this machine: how much room PostgreSQL has only its " +
				"own machine knows; bound the database there")
	}

	hub, auth, err := c.startQueue(ctx, in, opt)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // one of the two tells agents on this host
	boot, _ := procself.BootID()
	in.Master = master.New(master.Config{
		Store: st, Queue: hub, Authority: auth, Host: host, BootID: boot,
		Kinds: c.env.kinds(), Fleets: c.fleets(in, auth),
		RunQuota: opt.RunQuota.Bytes(), StoreQuota: opt.StoreQuota.Bytes(), KeepFree: opt.KeepFree.Bytes(),
		Lease: opt.Lease.Std(), Guest: opt.Guest, Server: in.info.ServerKey, Version: Version(), Log: c.log,
	})
	if in.interrupted, err = in.Recover(ctx); err != nil {
		return nil, err
	}
	if err := hub.Serve(in.handlers()); err != nil {
		return nil, fmt.Errorf("serving the queue: %w", err)
	}
	in.halt = in.run(ctx)
	in.onClose(in.halt)
	// It tells this user's other commands where the server is.
	in.onClose(func() error { return os.Remove(c.paths.at(serverInfoName)) })
	return in, in.info.Save(c.paths.at(serverInfoName))
}

// startQueue starts the embedded queue or connects to the user's, and joins
// the master to it.
func (c *common) startQueue(ctx context.Context, in *instance, opt serverOptions) (*queue.Hub, *identity.Authority, error) {
	key, err := identity.LoadOrCreate(c.paths.at(serverKeyName), identity.RoleServer)
	if err != nil {
		return nil, nil, err
	}
	auth, err := identity.OpenAuthority(c.paths.at(authorityName))
	if err != nil {
		return nil, nil, err
	}
	// This user's own commands may speak to the server: a process that can read the
	// key file can also read the database beside it.
	own, err := identity.LoadOrCreate(c.paths.at(clientKeyName), identity.RoleClient)
	if err == nil {
		err = auth.Admit(identity.Grant{Key: own.Public(), Role: identity.RoleClient, Node: "local-client",
			At: time.Now().UTC()})
	}
	if err != nil {
		return nil, nil, err
	}
	conn, err := c.openQueue(ctx, in, opt, key, auth)
	if err != nil {
		return nil, nil, err
	}
	// Right after a start agents need a moment to say hello again; until then
	// no other agent can take the ID of a known node.
	started := time.Now()
	alive := func(id model.NodeID) bool {
		return in.Master == nil || time.Since(started) < helloGrace || in.NodeAlive(id)
	}
	hub, err := queue.NewHub(ctx, conn, key, auth, queue.HubOptions{
		Log: c.log, NodeAlive: alive, Dir: c.paths.root, Spare: func() int64 { return spare(c.paths.root, opt.KeepFree.Bytes()) },
	})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the queue: %w", err)
	}
	in.onClose(hub.Close)
	return hub, auth, nil
}

// spare is how much may be written in a directory before its disk has less free
// than is kept, in bytes.
func spare(dir string, keep int64) int64 {
	free, size, err := procself.Room(dir)
	if err != nil {
		return 0 // nothing can be written in a directory that is gone
	}
	return free - cmp.Or(keep, master.KeepFree(size))
}

// helloGrace is how long agents may take to find a restarted server.
const helloGrace = 30 * time.Second

func (c *common) openQueue(ctx context.Context, in *instance, opt serverOptions, key *identity.Key, auth *identity.Authority) (queue.Conn, error) {
	if len(opt.NATS) > 0 {
		ext, err := queue.ConnectExternal(ctx, queue.ExternalConfig{
			URLs: opt.NATS, CredsFile: c.flags.NATSCreds, NKeyFile: c.flags.NATSNKey, CAFile: c.flags.NATSCA,
			AllowOpen: opt.NATSOpen, Insecure: opt.Insecure, Key: key, Log: c.log,
		})
		if err != nil {
			return nil, err
		}
		in.info = ext.Info()
		return ext, nil
	}
	srv, err := queue.StartServer(ctx, queue.ServerConfig{
		DataDir: c.paths.at(queueName), Listen: opt.Listen, Advertise: opt.Advertise, Insecure: opt.Insecure,
		Key: key, Authority: auth, Log: c.log,
	})
	if err != nil {
		return nil, err
	}
	in.onClose(func() error { srv.Shutdown(); return nil })
	in.info = srv.Info()
	return srv, nil
}

func (in *instance) handlers() queue.Handlers {
	m, api := in.Master, control.NewHandler(in.Master, in.heap.request)
	return queue.Handlers{
		Hello: m.Hello, Heartbeat: m.Heartbeat, Ready: m.Ready, Result: m.Result, Chunk: m.Chunk,
		Progress: m.Progress, Report: m.Report, Missing: m.Missing, Readings: m.NodeReadings, Goodbye: m.Goodbye,
		Jobs: m.Jobs, Cut: m.Cut,
		API: func(ctx context.Context, _ queue.Caller, verb string, body []byte) ([]byte, error) {
			return api.Handle(ctx, verb, body)
		},
	}
}

// run executes runs in the background; the returned function ends that, and may
// be called again.
func (in *instance) run(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- in.Serve(ctx) }()
	return sync.OnceValue(func() error { cancel(); return <-ended })
}

func (in *instance) onClose(f func() error) { in.closers = append(in.closers, f) }

// Close ends everything, last opened first.
func (in *instance) Close() error {
	var errs []error
	for _, end := range slices.Backward(in.closers) {
		errs = append(errs, end())
	}
	in.closers = nil
	return errors.Join(errs...)
}

func (c *common) openStore(ctx context.Context) (store.Store, error) {
	url := c.storeURL
	switch {
	case url == "":
		return sqlite.Open(ctx, c.paths.at(databaseName))
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return postgres.Open(ctx, url)
	}
	path, ok := strings.CutPrefix(url, "sqlite://")
	if !ok {
		scheme, _, _ := strings.Cut(url, ":")
		return nil, usageError("--store %s:… must be postgres://… or sqlite://PATH", scheme)
	}
	return sqlite.Open(ctx, path)
}
