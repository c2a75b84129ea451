package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/cassandra"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/load/redis"
	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// Data is what a data store holds and is asked for.
type Data struct {
	Workload     string `json:"workload" jsonschema:"enum=w1,enum=w2,enum=w3,enum=w3b,enum=a,enum=b,enum=c,enum=d,enum=f" jsonschema_description:"Mix of operations. w1 to w3b: Table I of the black-box throughput paper (only writes; only reads; 5 % and 50 % writes). a, b, c, d, f: the core workloads of YCSB."`
	Records      int64  `json:"records" jsonschema:"minimum=1" jsonschema_description:"Number of records, loaded once before all windows; loading is not timed."`
	Fields       int    `json:"fields" jsonschema:"minimum=1,maximum=64" jsonschema_description:"Fields of a record."`
	FieldSize    int    `json:"field_size" jsonschema:"minimum=16" jsonschema_description:"Bytes of a field."`
	Distribution string `json:"distribution,omitempty" jsonschema:"enum=uniform,enum=zipfian,enum=zipf,enum=latest" jsonschema_description:"Distribution of the records' choice; default: the mix's own. zipfian is YCSB's (scrambled), zipf the exact one."`
}

// defaultData is YCSB's data set under its workload B.
func defaultData() *Data {
	d := kv.DefaultDataset()
	return &Data{Workload: "b", Records: d.Records, Fields: d.Fields, FieldSize: d.FieldSize}
}

// UnmarshalJSON fills in defaults for what the file leaves out.
func (d *Data) UnmarshalJSON(b []byte) error {
	type plain Data
	full := plain(*defaultData())
	err := strictly(b, &full)
	*d = Data(full)
	return err
}

func (d Data) dataset() kv.Dataset {
	return kv.Dataset{Records: d.Records, Shape: kv.Shape{Fields: d.Fields, FieldSize: d.FieldSize}}
}

func (d Data) workload() (kv.Workload, error) {
	w, err := kv.Preset(d.Workload)
	if d.Distribution != "" {
		w.Distribution = kv.Distribution(d.Distribution)
	}
	return w, err
}

func (d Data) check() error {
	if err := d.dataset().Check(); err != nil {
		return err
	}
	w, err := d.workload()
	if err != nil {
		return err
	}
	return w.Distribution.Check()
}

// OverHTTP reports whether a target is asked with requests, and not a store.
func OverHTTP(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

func (p *Params) overHTTP() bool { return OverHTTP(p.Target) }

// openStore makes the driver of a data store, into which the first node loads
// the records.
func (p *Params) openStore(ctx context.Context, env *workload.Env) (engine.Driver, error) {
	address, err := p.withPassword(env.Environ)
	if err != nil {
		return nil, err
	}
	store, err := newStore(address, p.trust())
	if err != nil {
		return nil, err
	}
	data := p.data()
	there, err := p.load(ctx, env, store)
	if err == nil {
		err = p.findRoom(ctx, env, store)
	}
	if err != nil {
		return nil, withAdvice(err)
	}
	w, err := data.workload()
	if err != nil {
		return nil, err
	}
	target, err := kv.NewTarget(store, kv.Config{
		Dataset: data.dataset(), Workload: w, Seed: p.drawn, Share: engine.Share{Index: env.Part, Of: env.Parts},
	})
	if err != nil {
		return nil, err
	}
	config := p.pool()
	config.Clients = p.uses.Allowed
	pool, err := engine.NewPool(target, config)
	if err != nil {
		return nil, err
	}
	if !there {
		return pool, nil
	}
	if err := pool.Open(ctx, connectBefore); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

// findRoom finds out how many connections the store has for this generator. It says
// so where they are fewer than were asked for.
func (p *Params) findRoom(ctx context.Context, env *workload.Env, store kv.Store) error {
	r, err := kv.RoomIn(ctx, store, p.firstWithin())
	if err != nil {
		return err
	}
	asked := p.ConnectionLimit()
	if p.Users > 0 { // none has two
		asked = min(asked, (p.Users+env.Parts-1)/env.Parts)
	}
	p.uses = engine.ConnectionUse{Room: r, Asked: asked, Allowed: asked}
	if r.SameUser > 0 {
		_, _ = fmt.Fprintf(env.Stderr, "the server does not tell %s of the same user from this generator's own, and they "+
			"count as its own: use a user that nobody else uses\n", num.Count(r.SameUser, "connection"))
	}
	free := r.Free(env.Parts)
	switch {
	case r.Limit == 0 || free >= asked:
		return nil
	case free < 1:
		return fmt.Errorf("%w: %s allows %d connections (%s), others hold %d and some are left to them: that is less than "+
			"one for each of %s; close some, let it allow more, or use fewer generators",
			model.ErrUnavailable, store.Name(), r.Limit, r.Setting, r.Others, num.Count(env.Parts, "generator"))
	}
	p.uses.Allowed = free
	_, _ = fmt.Fprintf(env.Stderr, "the server allows %d connections (%s), and others hold %d: this generator uses at most %d of the %d it may have, to leave some to others\n",
		r.Limit, r.Setting, r.Others, p.uses.Allowed, asked)
	return nil
}

// connectBefore is how many connections to a store are opened before the start;
// more follow when they are needed. Opening one is work for a store, which it
// would do while operations wait.
const connectBefore = 128

// load makes sure of the records, if this is the first node, and reports whether
// they are there. They may not be yet for the others, who then connect when the
// load begins.
func (p *Params) load(ctx context.Context, env *workload.Env, store kv.Store) (there bool, err error) {
	set, within := p.data().dataset(), p.firstWithin()
	if p.Recover {
		within += RecoverWithin // it may still be at what the load before has left
	}
	if env.Part > 0 {
		return kv.Loaded(ctx, store, set, within)
	}
	l, err := kv.Load(ctx, store, set, within)
	p.recordsLoaded = l.Missing
	return err == nil, err // an error says what, and where
}

func (p *Params) data() Data {
	if p.Data == nil {
		return *defaultData()
	}
	return *p.Data
}

// newStore opens the store that the scheme names.
func newStore(address string, trust engine.Trust) (kv.Store, error) {
	scheme, _, _ := strings.Cut(address, ":")
	var store kv.Store
	var secure string // how a URL asks for TLS
	var err error
	switch scheme {
	case "redis", "rediss":
		secure = "rediss://"
		store, err = redis.New(address)
	case "postgres", "postgresql":
		secure = "?sslmode=verify-full"
		store, err = sqlkv.NewPostgres(address)
	case "mysql", "mariadb":
		secure = "?tls=true"
		store, err = sqlkv.NewMySQL(address)
	case "cassandra", "cassandras":
		secure = "cassandras://"
		store, err = cassandra.New(address)
	default:
		err = errTarget()
	}
	if err != nil {
		return nil, err
	}
	return store, kv.Trusting(store, trust, secure)
}

func errTarget() error {
	return fmt.Errorf("%w: the URL of a target begins with http://, https://, redis://, postgres://, mysql://, cassandra:// or s3://", model.ErrUsage)
}

// UsesEnviron implements workload.EnvironUser: with PostgreSQL, the variables that
// its own programs know count as well.
func (p *Params) UsesEnviron() (names, patterns []string) {
	if p.PasswordEnv != "" {
		names = []string{p.PasswordEnv}
	}
	switch {
	case IsBucket(p.Target):
		patterns = objectstore.Variables()
	case strings.HasPrefix(p.Target, "postgres"):
		patterns = []string{"PG*"}
	}
	return names, patterns
}

// withPassword puts the password into the URL that the node's environment
// holds: in a file it would be stored with the run.
func (p *Params) withPassword(environ []string) (string, error) {
	if p.PasswordEnv == "" {
		return p.Target, nil
	}
	password, ok := workload.Getenv(environ, p.PasswordEnv)
	if !ok {
		return "", fmt.Errorf("%w: the environment variable %s (the password of the store) is not set; set it where the agent runs", model.ErrUsage, p.PasswordEnv)
	}
	u, err := url.Parse(p.Target)
	if err != nil {
		return "", errTarget()
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}
