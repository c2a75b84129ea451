package cassandra

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/scalebench/scalebench/internal/model"
)

// example is shown where a URL is not understood.
const example = "cassandra://user:password@host1,host2:9042/keyspace?consistency=quorum&replication=1 (cassandras:// for TLS)"

// defaultKeyspace is used where the URL names none.
const defaultKeyspace = "scalebench_kv"

// ownPrefix begins the names of keyspaces that are ours to make and to remove.
const ownPrefix = "scalebench_"

// connectTimeout bounds connecting, beside the context.
const connectTimeout = 10 * time.Second

// protocol is the newest version of CQL's binary protocol that all servers
// since Cassandra 2.2, and those of others, understand. Naming it saves finding
// out with each session.
const protocol = 4

// options are what a URL says.
type options struct {
	hosts       []string
	port        int
	keyspace    string
	consistency gocql.Consistency
	replication int
	user        *url.Userinfo // nil without one
	tls         bool
}

// keyspaceName is what can be written in CQL without quotes: then nobody need
// ask what quotes would mean.
var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// parseOptions reads a URL of the right scheme. The error is model.ErrUsage.
func parseOptions(u *url.URL) (options, error) {
	o := options{
		port: 9042, keyspace: strings.Trim(u.Path, "/"), user: u.User, tls: u.Scheme == "cassandras",
		hosts: strings.Split(u.Hostname(), ","), consistency: gocql.Quorum, replication: 1,
	}
	if o.keyspace == "" {
		o.keyspace = defaultKeyspace
	}
	if slices.Contains(o.hosts, "") {
		return o, fmt.Errorf("%w: a host without a name", model.ErrUsage)
	}
	if !keyspaceName.MatchString(o.keyspace) {
		return o, fmt.Errorf("%w: the keyspace's name %q; it is of small letters, digits and _", model.ErrUsage, o.keyspace)
	}
	if port := u.Port(); port != "" {
		var err error
		if o.port, err = strconv.Atoi(port); err != nil || o.port < 1 || o.port > 65535 {
			return o, fmt.Errorf("%w: port %s", model.ErrUsage, port)
		}
	}
	return o, o.parameters(u.Query())
}

// parameters reads what stands behind the question mark.
func (o *options) parameters(values url.Values) error {
	for name, all := range values {
		value := all[len(all)-1]
		switch name {
		case "consistency":
			c, err := gocql.ParseConsistencyWrapper(strings.ToUpper(value))
			if err != nil {
				return fmt.Errorf("%w: consistency %q; it is one, local_one, quorum, local_quorum, all, …", model.ErrUsage, value)
			}
			o.consistency = c
		case "replication":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return fmt.Errorf("%w: replication %q; it is a number of copies", model.ErrUsage, value)
			}
			o.replication = n
		default:
			// Neither name nor value is shown: it may be a misplaced secret.
			return fmt.Errorf("%w: a parameter other than consistency and replication", model.ErrUsage)
		}
	}
	return nil
}

// ours: the keyspace is made and removed with the data set.
func (o options) ours() bool { return strings.HasPrefix(o.keyspace, ownPrefix) }

// cluster configures a session of the library: it waits for nothing before it
// sends, repeats nothing, and does no more in the background than it must. It
// knows no keyspace; statements name it.
func (o options) cluster() *gocql.ClusterConfig {
	c := gocql.NewCluster(o.hosts...)
	c.Port, c.ProtoVersion, c.Consistency, c.NumConns = o.port, protocol, o.consistency, 1
	// The context says how long an operation may take, and nothing else.
	c.Timeout, c.WriteTimeout, c.ConnectTimeout = 0, 0, connectTimeout
	c.WriteCoalesceWaitTime = 0
	c.ReconnectInterval = 0
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1} // one try
	c.Events.DisableNodeStatusEvents = true
	c.Events.DisableTopologyEvents = true
	c.Events.DisableSchemaEvents = true
	c.Logger = gocql.NewLogger(gocql.LogLevelNone) // errors are returned, too
	// A server that asks nobody for a password does not look at this.
	password, _ := o.user.Password()
	c.Authenticator = gocql.PasswordAuthenticator{Username: o.user.Username(), Password: password}
	if o.tls {
		c.SslOpts = &gocql.SslOptions{Config: &tls.Config{MinVersion: tls.VersionTLS12}, EnableHostVerification: true}
	}
	o.route(c)
	return c
}

// route says where operations go.
func (o options) route(c *gocql.ClusterConfig) {
	if len(o.hosts) == 1 {
		c.DisableInitialHostLookup = true
		c.Metadata.CacheMode = gocql.Disabled
		return
	}
	c.Metadata.CacheMode = gocql.KeyspaceOnly // how many copies there are, and where
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
}

// table writes a table with its keyspace.
func (o options) table(name string) string { return o.keyspace + "." + name }
