package program

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// NeedCassandra makes what examples/servicelevel-cassandra.yaml starts from. Where
// Cassandra is not installed, which takes long, it skips the test.
func NeedCassandra(t *testing.T) {
	t.Helper()
	NeedLab(t)
	if _, err := os.Stat("../../.tools/cassandra/lib"); err != nil {
		t.Skip("Cassandra is not installed: scripts/cassandra.sh fetches it")
	}
	if _, err := os.Stat("/var/lib/scalebench-cassandra/classes/Node.class"); err == nil {
		return
	}
	if out, err := exec.CommandContext(t.Context(), ExampleFile("cassandra/prepare.sh")).CombinedOutput(); err != nil {
		t.Fatalf("preparing Cassandra: %v\n%s", err, out)
	}
}

// CassandraForm are the flags that make another form of that example: so many nodes, records
// of 4 KB and seconds, and YCSB's workload of this name alone. One that has less data than
// memory leaves cache MiB for it (0: what the hosts have).
func CassandraForm(nodes, records, cache int, ycsb string, seconds int) []string {
	var out []string
	for _, set := range []string{
		fmt.Sprintf("fleet.lab.groups.db.nodes=%d", nodes), fmt.Sprintf("services.db.count=%d", nodes),
		fmt.Sprintf(`services.db.environ.RECORDS="%d"`, records), fmt.Sprintf(`services.db.environ.CACHE="%d"`, cache),
		fmt.Sprintf(`workloads=[{name: %[1]s, kind: load, on: {group: clients}, users: 100, warm_up: 3s, duration: %[3]ds,
  target: "cassandra://${service.db[*]}:9042/scalebench_kv?consistency=one", request_timeout: 10s, timeout: 1h,
  data: {workload: %[1]s, records: %[2]d, fields: 4, field_size: 1000, distribution: uniform},
}]`, ycsb, records, seconds),
	} {
		out = append(out, "--set", set)
	}
	if cache > 0 {
		size := fmt.Sprintf("fleet.lab.volumes.data.size=%dMiB", 220+records/180/nodes)
		out = append(out, "--set", "fleet.lab.groups.db.memory=1GiB", "--set", size)
	}
	return out
}

// Raised is what a raise of volumes did to the requests a second.
type Raised struct {
	Before, After     struct{ Mean float64 }
	Growth, Predicted float64
}

// Cassandra runs that form, in which the volumes are raised.
func (w *Installation) Cassandra(form []string) Raised {
	w.T.Helper()
	args := append([]string{"run", ExampleFile("servicelevel-cassandra.yaml"), "--format", "json"}, form...)
	var r struct{ Raised []Raised }
	if err := json.Unmarshal([]byte(w.Run(args...)), &r); err != nil || len(r.Raised) != 1 {
		w.T.Fatalf("raised %+v, %v; want one workload", r.Raised, err)
	}
	return r.Raised[0]
}
