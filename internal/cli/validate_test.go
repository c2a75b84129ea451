package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestValidateAsDryRun: validate and run --dry-run say the same of one file, also where the
// nodes are agents, who are not known before the run.
func TestValidateAsDryRun(t *testing.T) {
	const agents = "fleet: {agents: {}}\n"
	tiers := func(study string) string {
		return agents + "services: [{name: web, port: 80, command: sleep 1, on: {tier: web}}]\n" +
			"study: {kind: ntier, " + study + ", users: [1, 2, 3, 4]}\nworkloads:\n"
	}
	users := func(name string) string {
		return "  - {kind: users, name: " + name + ", run: 1m, ramp_up: 0s, on: {role: users}, " +
			"url: \"http://${service.web}/\"}\n"
	}
	files := map[string]struct {
		text string
		ok   bool
	}{
		"one mix":       {tiers("tiers: [web]") + users("a"), true},
		"two mixes":     {tiers("tiers: [web], mixes: [browse_only, read_write]") + users("a"), true},
		"two workloads": {tiers("tiers: [web]") + users("a") + users("b"), false},
		"no such tier":  {tiers("tiers: [db]") + users("a"), false},
		"by labels":     {agents + "workloads:\n  - {kind: cpu, on: {role: a}}\n  - {kind: memory, on: {role: b}}\n", true},
	}
	paths := make(map[string]bool) // whether one of them must be valid
	for name, f := range files {
		path := filepath.Join(t.TempDir(), strings.ReplaceAll(name, " ", "-")+".yaml")
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths[path] = f.ok
	}
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, path := range examples {
		paths[path] = true
	}
	for path, ok := range paths {
		said := make(map[string]string)
		for _, args := range [][]string{{"validate", path}, {"run", path, "--dry-run"}} {
			var out, errs bytes.Buffer
			code := Main(Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
				Environ: []string{"HOME=" + t.TempDir()}})
			if (code == 0) != ok {
				t.Errorf("%v: exit code %d: %s", args, code, errs.String())
			}
			if code != 0 {
				said[args[0]] = errs.String()
			}
		}
		if !strings.HasSuffix(said["run"], said["validate"]) || (said["run"] == "") != (said["validate"] == "") {
			t.Errorf("%s: validate says %q, and run --dry-run %q", path, said["validate"], said["run"])
		}
	}
}
