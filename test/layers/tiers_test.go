package layers

import "strings"

// tier says how far up a package stands; imports go to lower tiers only.
type tier int

// testTier is where helpers of tests and tests of the whole stand: below test/,
// no part of the program. They may import anything, and only tests may import
// them.
const testTier tier = 99

// place is a row of the table: a package, or a family of packages, and its
// tier.
type place struct {
	// pkg is the path below internal/, or below the module where it begins
	// with "cmd/" or "test/". A last element <name> stands for any one element.
	pkg  string
	tier tier
}

// places is the table of tiers. docs/architecture.md shows the same rows, with
// the responsibility of each package; a test compares the two.
var places = []place{
	{pkg: "model", tier: 0},
	{pkg: "stats", tier: 0},
	{pkg: "unit", tier: 0},
	{pkg: "procself", tier: 0},
	{pkg: "environ", tier: 0},
	{pkg: "histogram", tier: 0},
	{pkg: "search", tier: 0},
	{pkg: "site", tier: 0},
	{pkg: "queueing", tier: 0},
	{pkg: "kernel", tier: 0},
	{pkg: "doc/num", tier: 0},
	{pkg: "doc/term", tier: 0},

	{pkg: "caveat", tier: 1},
	{pkg: "tabular", tier: 1},
	{pkg: "frame", tier: 1},
	{pkg: "doc/chart", tier: 1},
	{pkg: "workload", tier: 1},
	{pkg: "wire", tier: 1},
	{pkg: "identity", tier: 1},
	{pkg: "store", tier: 1},
	{pkg: "schedule", tier: 1},
	{pkg: "expression", tier: 1},
	{pkg: "facts", tier: 1},
	{pkg: "cgroup", tier: 1},
	{pkg: "nvme", tier: 1},
	{pkg: "recording", tier: 1},
	{pkg: "load", tier: 1},
	{pkg: "bottleneck", tier: 1},
	{pkg: "scalability", tier: 1},

	{pkg: "workload/<name>", tier: 2},
	{pkg: "doc", tier: 2},
	{pkg: "observe", tier: 2},
	{pkg: "explain", tier: 2},
	{pkg: "telemetry", tier: 2},
	{pkg: "frame/files", tier: 2},
	{pkg: "monitor", tier: 2},
	{pkg: "probe", tier: 2},
	{pkg: "runner", tier: 2},
	{pkg: "lab", tier: 2},
	{pkg: "queue", tier: 2},
	{pkg: "store/sqlstore", tier: 2},
	{pkg: "load/kv", tier: 2},
	{pkg: "load/httpwire", tier: 2},
	{pkg: "fleet/agentproc", tier: 2},

	{pkg: "store/sqlite", tier: 3},
	{pkg: "store/postgres", tier: 3},
	{pkg: "doc/render", tier: 3},
	{pkg: "tiers", tier: 4},
	{pkg: "study", tier: 3},
	{pkg: "evaluation", tier: 3},
	{pkg: "prices", tier: 3},
	{pkg: "record", tier: 4},
	{pkg: "campaign", tier: 3},
	{pkg: "workload/service", tier: 3},

	{pkg: "telemetry/<name>", tier: 3},

	{pkg: "study/legacy", tier: 4},
	{pkg: "microbench", tier: 4},
	{pkg: "experiment", tier: 4},
	{pkg: "load/<name>", tier: 4},

	{pkg: "answer", tier: 5},
	{pkg: "design", tier: 5},
	{pkg: "workload/load", tier: 5},
	{pkg: "workload/objectstore", tier: 5},
	{pkg: "workload/users", tier: 5},
	{pkg: "board", tier: 5},
	{pkg: "timeline", tier: 5},
	{pkg: "levels", tier: 5},

	{pkg: "control", tier: 6},
	{pkg: "fleet/<name>", tier: 6},
	{pkg: "study/<name>", tier: 6},

	{pkg: "master", tier: 7},
	{pkg: "agent", tier: 7},

	{pkg: "cli", tier: 8},

	{pkg: "cmd/scalebench", tier: 9},
	{pkg: "cmd/sharefiles", tier: 9},

	{pkg: "test/<name>", tier: testTier},
	{pkg: "test/proof/<name>", tier: testTier},
	{pkg: "test/servers/<name>", tier: testTier},
	{pkg: "test/truth/<name>", tier: testTier},
}

// find returns the row for a package. An exact row wins over a family.
func find(pkg string) (place, bool) {
	for _, p := range places {
		if p.pkg == pkg {
			return p, true
		}
	}
	for _, p := range places {
		family, _, ok := strings.Cut(p.pkg, "/<")
		rest, below := strings.CutPrefix(pkg, family+"/")
		if ok && below && rest != "" && !strings.Contains(rest, "/") {
			return p, true
		}
	}
	return place{}, false
}

// library says who may import a third-party module.
type library struct {
	module string
	// users are the rows of the table, or prefixes of them, that may import
	// it; "*" is everybody above tier 0.
	users []string
	// testOnly libraries may be imported by tests alone; users is then empty.
	testOnly bool
	reason   string
}

// libraries lists every third-party module that scalebench imports directly.
// DEPENDENCIES.md says what each is for.
var libraries = []library{
	{module: "github.com/nats-io/nats-server/v2", users: []string{"queue"},
		reason: "the queue can be replaced, and secured in one place, only while one package knows what it is"},
	{module: "github.com/nats-io/nats.go", users: []string{"queue", "test/<name>"},
		reason: "the queue can be replaced, and secured in one place, only while one package knows what it is"},
	{module: "github.com/nats-io/nkeys", users: []string{"identity", "queue"},
		reason: "private keys are handled in one place; the queue only presents them"},
	{module: "modernc.org/sqlite", users: []string{"store/sqlite"},
		reason: "what is above the store must not know which database it is"},
	{module: "github.com/jackc/pgx/v5", users: []string{"store/postgres", "test/servers/<name>", "load/<name>", "probe"},
		reason: "what is above the store must not know which database it is; as a target of load it is one protocol of several, and as a tier it is asked by probes"},
	{module: "github.com/pressly/goose/v3", users: []string{"store/sqlstore", "store/sqlite", "store/postgres"},
		reason: "schemas belong to the stores"},
	{module: "gonum.org/v1/gonum", users: []string{"stats"},
		reason: "every number is computed in stats, where each function names its source and its golden values"},
	{module: "github.com/spf13/cobra", users: []string{"cli", "cmd/sharefiles"},
		reason: "flags are the command line's; everything below takes explicit options"},
	{module: "github.com/spf13/pflag", users: []string{"cli", "cmd/sharefiles"},
		reason: "flags are the command line's; everything below takes explicit options"},
	{module: "go.yaml.in/yaml/v4", users: []string{"experiment"},
		reason: "files are parsed in one place, so that every error has file:line:col"},
	{module: "github.com/robfig/cron/v3", users: []string{"schedule"},
		reason: "when something is due is decided in one place, which knows what clocks do"},
	{module: "github.com/invopop/jsonschema", users: []string{"experiment"},
		reason: "the schema must come from the same structs that the parser fills"},
	{module: "github.com/santhosh-tekuri/jsonschema/v6", testOnly: true, reason: "it holds the parser to the printed schema in tests"},
	{module: "golang.org/x/crypto", users: []string{"identity", "queue"},
		reason: "cryptography is where it is reviewed: keys and envelopes in identity, live events in the queue"},
	{module: "golang.org/x/sync", users: []string{"*"},
		reason: "vocabulary and mathematics start no goroutines"},
	{module: "github.com/itchyny/gojq", users: []string{"workload/<name>"},
		reason: "only workloads read what a benchmark printed"},
	{module: "github.com/vishvananda/netlink", users: []string{"lab"},
		reason: "interfaces are made where everything that is made is written down and removed again; kernel lists them"},
	{module: "github.com/vishvananda/netns", users: []string{"lab"},
		reason: "threads change their namespace in one place, where they are locked"},
	{module: "github.com/minio/minio-go/v7", users: []string{"load/<name>", "test/servers/<name>"},
		reason: "each protocol of the load engine is one package"},
	{module: "github.com/google/uuid", users: []string{"load/<name>"},
		reason: "ids of scalebench itself are ULIDs, of package model; UUIDs name objects in a store"},
	{module: "github.com/HdrHistogram/hdrhistogram-go", users: []string{"histogram", "load", "load/<name>", "workload/<name>", "workload/objectstore", "record", "study/<name>"},
		reason: "distributions are recorded where things are measured, encoded and merged in one place, and read where they are judged and shown"},
	{module: "github.com/gomodule/redigo", users: []string{"load/<name>"},
		reason: "each protocol of the load engine is one package"},
	{module: "github.com/go-sql-driver/mysql", users: []string{"load/<name>", "probe"},
		reason: "each protocol of the load engine is one package; as a tier the database is asked by probes"},
	{module: "github.com/apache/cassandra-gocql-driver/v2", users: []string{"load/<name>"},
		reason: "each protocol of the load engine is one package"},
	{module: "github.com/aws/aws-sdk-go-v2", users: []string{"telemetry/<name>"},
		reason: "each source of monitoring data is one package"},
	{module: "github.com/aws/aws-sdk-go-v2/config", users: []string{"telemetry/<name>"},
		reason: "each source of monitoring data is one package"},
	{module: "github.com/aws/aws-sdk-go-v2/feature/ec2/imds", users: []string{"telemetry/<name>"},
		reason: "each source of monitoring data is one package"},
	{module: "github.com/aws/aws-sdk-go-v2/service/cloudwatch", users: []string{"telemetry/<name>"},
		reason: "each source of monitoring data is one package"},
	{module: "github.com/aws/smithy-go", users: []string{"telemetry/<name>"},
		reason: "each source of monitoring data is one package"},
	{module: "github.com/oklog/ulid/v2", users: []string{"*"},
		reason: "model is vocabulary and makes no ids"},
	{module: "github.com/klauspost/compress", users: []string{"queue", "store/sqlstore", "frame/files", "test/<name>"},
		reason: "what is packed is packed where it is kept or sent, and unpacked by the same package; users pack their files, and an attacker packs for itself"},
	{module: "github.com/parquet-go/parquet-go", users: []string{"frame/files", "test/<name>"},
		reason: "files of measurements are read in one place, so that all are refused in the same words"},
	{module: "golang.org/x/perf", users: []string{"frame/files"},
		reason: "files of measurements are read in one place, so that all are refused in the same words"},
	{module: "golang.org/x/time", users: []string{"queue"},
		reason: "rates are limited where messages come in"},
	{module: "golang.org/x/text", users: []string{"tabular"},
		reason: "what a file is written in is found out in one place"},
	{module: "golang.org/x/term", users: []string{"cli"},
		reason: "only the command line meets a terminal"},
	{module: "golang.org/x/sys", users: []string{"*", "procself", "kernel"},
		reason: "vocabulary and mathematics make no system calls; procself sends signals, reads the clock of a thread, and asks file systems for their room; kernel asks for interfaces and sockets"},
	{module: "github.com/google/go-cmp", testOnly: true, reason: "it may panic and is made for tests"},
	{module: "go.uber.org/goleak", testOnly: true, reason: "it looks for leaked goroutines in tests"},
	{module: "github.com/rogpeppe/go-internal", testOnly: true, reason: "its testscript drives the command line in tests"},
	{module: "github.com/chromedp/chromedp", testOnly: true, reason: "it drives a browser to look at reports in tests"},
	{module: "github.com/chromedp/cdproto", testOnly: true, reason: "it drives a browser to look at reports in tests"},
}

// separate packages never import each other, tier or no tier: they meet only
// through the queue and the store, so that each can run on a machine of its
// own.
var separate = []string{"master", "agent"}

// findLibrary returns the row of the module that an import path belongs to.
func findLibrary(path string) (library, bool) {
	for _, l := range libraries {
		if path == l.module || strings.HasPrefix(path, l.module+"/") {
			return l, true
		}
	}
	return library{}, false
}

// allows reports whether a package of the program may import the library.
func (l library) allows(p place) bool {
	if l.testOnly {
		return false
	}
	for _, u := range l.users {
		if u == p.pkg || (u == "*" && p.tier > 0) {
			return true
		}
	}
	return false
}
