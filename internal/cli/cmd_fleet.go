package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/record"
	"github.com/scalebench/scalebench/internal/unit"
)

func (c *common) serverCommand() *cobra.Command {
	opt := serverOptions{Listen: "127.0.0.1:4222", Lease: unit.Duration(time.Minute), RunQuota: defaultRunQuota}
	cmd := newCommand("server", "run a server that agents join",
		`Runs a server: queue, store and master. By default the queue is embedded and
listens on loopback; --listen makes it reachable, with TLS, and the tokens of
"scalebench token" carry the certificate's fingerprint, so that agents need no
certificates. --nats uses your own NATS cluster instead.`,
		`  scalebench server --listen 0.0.0.0:4222 --advertise 10.0.0.5:4222
  scalebench server --nats nats://a:4222,b:4222,c:4222 --nats-creds user.creds
  scalebench server --store postgres://user@db/scalebench`,
		func(ctx context.Context, _ []string) error { return c.serve(ctx, opt) })
	addOptions(cmd.Flags(), &opt)
	return cmd
}

// serve runs until the context ends.
func (c *common) serve(ctx context.Context, opt serverOptions) error {
	c.logFrom(slog.LevelWarn) // a server that refuses something must say so
	in, err := c.startServer(ctx, opt)
	if err != nil {
		return err
	}
	c.say("scalebench %s serves on %s", Version(), withoutPasswords(in.info.Servers))
	c.say("`scalebench token` makes a token for an agent; Ctrl-C stops the server")
	c.sayInterrupted(in.interrupted)
	c.sayReady(ctx)
	in.heap.keep(ctx, in)
	<-ctx.Done()
	c.say("stopping")
	return in.Close()
}

// sayReady tells the service manager that started this server, and waits for
// it, that the server serves: sd_notify(3).
func (c *common) sayReady(ctx context.Context) {
	address := c.env.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", address)
	if err == nil {
		_, err = conn.Write([]byte("READY=1"))
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		c.log.Error("telling the service manager that the server is ready", "err", err)
	}
}

// sayInterrupted says which runs of an earlier server can be resumed, and how.
// Those of campaigns go on by themselves.
func (c *common) sayInterrupted(runs []model.Run) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r model.Run) bool { return r.Campaign != "" })
	if len(runs) > 0 {
		c.log.Info("interrupted runs can be resumed", "count", len(runs), "latest", runs[0].ID)
	}
	switch len(runs) {
	case 0:
	case 1:
		c.say("1 run is interrupted; `scalebench resume %s` continues it", runs[0].ID)
	default:
		c.say("%d runs are interrupted; `scalebench resume ID` continues one, the latest is %s; `scalebench runs` lists them",
			len(runs), runs[0].ID)
	}
}

// withoutPasswords prints addresses; those of an external queue may hold a
// password.
func withoutPasswords(addresses []string) string {
	out := make([]string, 0, len(addresses))
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil {
			a = u.Redacted()
		}
		out = append(out, a)
	}
	return strings.Join(out, ", ")
}

func (c *common) tokenCommand() *cobra.Command {
	var client bool
	spec := identity.TokenSpec{Role: identity.RoleAgent, Uses: 1, TTL: time.Hour}
	cmd := newCommand("token", "make a join token for agents or users",
		`Makes a token for agents, or with --client for users' commands, to join the
running server. It holds the server's address, its public key and certificate
fingerprint, and a secret that works --uses times until it expires: keep it as
you keep a password.`,
		`  scalebench token
  scalebench token --uses 20 --ttl 30m
  scalebench token --client`,
		func(ctx context.Context, _ []string) error {
			if client {
				spec.Role = identity.RoleClient
			}
			if spec.Uses < 1 || spec.TTL <= 0 {
				return usageError("--uses and --ttl must be more than 0")
			}
			return c.withService(ctx, toRead, func(ctx context.Context, s service) error {
				tok, err := s.NewToken(ctx, spec)
				if err != nil {
					return err
				}
				return c.out(tok)
			})
		})
	cmd.Flags().BoolVar(&client, "client", false, "make a token for a user's commands instead of an agent")
	cmd.Flags().IntVar(&spec.Uses, "uses", spec.Uses, "how often the token can be used")
	cmd.Flags().DurationVar(&spec.TTL, "ttl", spec.TTL, "lifetime of the token")
	return cmd
}

func (c *common) nodesCommand() *cobra.Command {
	remove := ""
	cmd := newCommand("nodes", "list the nodes and their state",
		"",
		`  scalebench nodes
  scalebench nodes --remove 10.0.0.7`,
		c.asking(func(ctx context.Context, s service, _ []string) error {
			if remove != "" {
				return s.RemoveNode(ctx, model.NodeID(remove))
			}
			nodes, err := s.Nodes(ctx)
			if err != nil {
				return err
			}
			return c.print(record.Nodes(nodes, !s.left), append([]model.NodeInfo{}, nodes...))
		}))
	cmd.Flags().StringVar(&remove, "remove", "", "remove this node and revoke its agent's key")
	c.addList(cmd)
	return cmd
}
