package layers

import (
	"strings"
	"testing"
)

// TestImports holds the whole module to the table.
func TestImports(t *testing.T) {
	root, module := moduleRoot(t)
	edges := loadEdges(t, root)
	if len(edges) == 0 {
		t.Fatalf("no Go files below %s", root)
	}
	said := map[string]bool{} // a package without a tier is reported once
	for _, e := range edges {
		problem := check(module, e)
		if problem == "" || (strings.Contains(problem, "has no tier") && said[problem]) {
			continue
		}
		said[problem] = true
		t.Errorf("%s: %s", e.file, problem)
	}
}

// TestCheck proves that each rule can fail, and that it allows what it should.
func TestCheck(t *testing.T) {
	const module = "example.com/m"
	in := func(pkg string) string { return module + "/internal/" + pkg }
	tests := []struct {
		name string
		edge edge
		want string // part of the message; "" when the import is fine
	}{
		{"downwards", edge{from: "master", path: in("store")}, ""},
		{"standard library", edge{from: "model", path: "time"}, ""},
		{"upwards", edge{from: "store", path: in("queue")}, "lower tiers only"},
		{"sideways", edge{from: "store/sqlite", path: in("store/postgres")}, "lower tiers only"},
		{"upwards in a test", edge{from: "store", path: in("store/sqlite"), test: true}, ""},
		{"family", edge{from: "workload/cpu", path: in("workload")}, ""},
		{"family, two elements below", edge{from: "workload/cpu/deep", path: "fmt"}, "has no tier"},
		{"family to family", edge{from: "workload/cpu", path: in("workload/memory")}, "lower tiers only"},
		{"unknown package", edge{from: "mystery"}, "add it to the table"},
		{"import of an unknown package", edge{from: "cli", path: in("mystery")}, "add it to the table"},
		{"agent imports master", edge{from: "agent", path: in("master")}, "never import each other"},
		{"command", edge{from: "cmd/scalebench", path: in("cli")}, ""},
		{"test helper in the program", edge{from: "cli", path: module + "/test/storetest"}, "outside a _test file"},
		{"test helper in a test", edge{from: "store/sqlite", path: module + "/test/storetest", test: true}, ""},
		{"testing in the program", edge{from: "agent", path: "testing/synctest"}, "outside a _test file"},
		{"testing in a test helper", edge{from: "test/storetest", path: "testing"}, ""},
		{"cgo", edge{from: "agent", path: "C"}, "static"},
		{"queue uses nats", edge{from: "queue", path: "github.com/nats-io/nats.go/jetstream"}, ""},
		{"intruder uses nats", edge{from: "test/queuetest", path: "github.com/nats-io/nats.go"}, ""},
		{"intruder in the program", edge{from: "cli", path: module + "/test/queuetest"}, "outside a _test file"},
		{"agent uses nats", edge{from: "agent", path: "github.com/nats-io/nats.go"}, "which only queue"},
		{"agent tests use nats", edge{from: "agent", path: "github.com/nats-io/nats.go", test: true}, "which only queue"},
		{"library with a similar name", edge{from: "queue", path: "github.com/nats-io/nats.gopher"}, "no rule knows"},
		{"model uses a library", edge{from: "model", path: "github.com/oklog/ulid/v2"}, "makes no ids"},
		{"everybody's library", edge{from: "agent", path: "golang.org/x/sys/unix"}, ""},
		{"test library in a test", edge{from: "stats", path: "github.com/google/go-cmp/cmp", test: true}, ""},
		{"test library in the program", edge{from: "stats", path: "github.com/google/go-cmp/cmp"}, "outside a _test file"},
		{"unknown library", edge{from: "cli", path: "example.org/new"}, "DEPENDENCIES.md"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := check(module, tt.edge)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("check(%+v) = %q, want %q in it", tt.edge, got, tt.want)
			}
		})
	}
}
