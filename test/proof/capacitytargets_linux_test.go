//go:build proof

package proof_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/servers/cassandratest"
)

// target is a server that people run, as a service of a lab.
type target struct {
	name     string
	programs []string // what must be installed
	cpu      float64  // processors that it gets in the proof
	port     int
	command  func(t *testing.T) string
	url      string // HOST stands for its address
	cases    []targetCase
}

// The SLA of the black-box throughput paper: section IV for a data store, section
// V for a web server.
const (
	paperQuantile = .9
	paperData     = 150 * time.Millisecond
	paperWeb      = 100 * time.Millisecond
)

// page is the paper's: as long as Debian's default page of Apache.
var page = []targetCase{{name: "GET, 10,701 bytes", quantile: paperQuantile, limit: paperWeb}}

// targets are started by `make load-proof`.
var targets = []target{
	{name: "nginx", programs: []string{"nginx"}, cpu: .25, port: 8080, command: script(program.LabNginx(10701, "")),
		url: "http://HOST:8080/", cases: page},
	{name: "Apache", programs: []string{"apache2"}, cpu: .25, port: 8080, command: script(apache), url: "http://HOST:8080/", cases: page},
	{
		name: "PostgreSQL", programs: []string{"setpriv"}, cpu: .5, port: 5432, command: script(postgres),
		url:   "postgres://postgres@HOST/postgres?sslmode=disable",
		cases: []targetCase{storeCase("YCSB B", "b")},
	},
	{
		name: "MariaDB", programs: []string{"mariadbd"}, cpu: .5, port: 3306, command: script(mariadb),
		url: "mysql://bench@HOST/bench", cases: []targetCase{storeCase("YCSB B", "b")},
	},
	{
		name: "Redis", programs: []string{"redis-server"}, cpu: .1, port: 6379,
		command: script("exec redis-server --bind $SCALEBENCH_ADDRESS --protected-mode no --save '' --appendonly no"),
		url:     "redis://HOST/", cases: []targetCase{storeCase("YCSB B", "b")},
	},
	{
		name: "Cassandra", cpu: .5, port: 9042, command: cassandra, url: "cassandra://HOST/",
		cases: []targetCase{
			storeCase("W1, only writes", "w1"), storeCase("W2, only reads", "w2"),
			storeCase("W3, 5 % writes", "w3"), storeCase("W3, 50 % writes", "w3b"),
		},
	},
}

func storeCase(name, data string) targetCase {
	return targetCase{name: name, data: data, records: 10_000, quantile: paperQuantile, limit: paperData}
}

func script(text string) func(*testing.T) string { return func(*testing.T) string { return text } }

const apache = `cd $SCALEBENCH_DIR; mkdir htdocs; head -c 10701 /dev/zero > htdocs/index.html
modules=/usr/lib/apache2/modules
cat > conf <<END
ServerName server
Listen 8080
ServerRoot $SCALEBENCH_DIR
DefaultRuntimeDir $SCALEBENCH_DIR
PidFile $SCALEBENCH_DIR/pid
ErrorLog /dev/stderr
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule dir_module $modules/mod_dir.so
User nobody
Group nogroup
DocumentRoot $SCALEBENCH_DIR/htdocs
MaxKeepAliveRequests 0
END
exec apache2 -f $SCALEBENCH_DIR/conf -DFOREGROUND`

// postgres has the defaults of the release but for who may connect, and for what
// it does now and then by itself: half a core has not enough left for that, and
// what a server takes that cleans up for half of the time is not one number.
const postgres = `cd $SCALEBENCH_DIR; chown postgres .; bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as="setpriv --reuid postgres --regid postgres --init-groups"
$as $bin/initdb -D data -U postgres -A trust -E UTF8 --locale C --no-sync > initdb.log || { cat initdb.log; exit 1; }
echo 'host all all 10.213.0.0/16 trust' >> data/pg_hba.conf
exec $as $bin/postgres -D $SCALEBENCH_DIR/data -k $SCALEBENCH_DIR -c listen_addresses=$SCALEBENCH_ADDRESS \
  -c autovacuum=off -c checkpoint_timeout=1h -c max_wal_size=8GB`

const mariadb = `cd $SCALEBENCH_DIR; chown mysql .
mariadb-install-db --no-defaults --user=mysql --datadir=$PWD/data --auth-root-authentication-method=normal --skip-test-db > log 2>&1 || { cat log; exit 1; }
printf "CREATE DATABASE bench;\nCREATE USER bench@'%%';\nGRANT ALL ON bench.* TO bench@'%%';\n" > init.sql
exec mariadbd --no-defaults --user=mysql --datadir=$PWD/data --socket=$PWD/socket --pid-file=$PWD/pid \
  --bind-address=$SCALEBENCH_ADDRESS --port=3306 --skip-name-resolve --init-file=$PWD/init.sql`

// cassandra keeps its files in a folder of the test.
func cassandra(t *testing.T) string {
	t.Helper()
	args, err := cassandratest.Command(t.TempDir(), serverHost)
	if err != nil {
		t.Fatalf("%v; `make load-proof` installs it", err)
	}
	return "exec '" + strings.Join(args, "' '") + "'"
}
