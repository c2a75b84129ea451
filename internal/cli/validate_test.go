package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		if valid := sayTheSame(t, path); valid != ok {
			t.Errorf("%s: valid is %v, want %v", path, valid, ok)
		}
	}
}

// TestFaultyAsDryRun: so they do of files with faults drawn at random: a line is missing, stands
// twice, or has another number or word.
func TestFaultyAsDryRun(t *testing.T) {
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	rng := rand.New(rand.NewPCG(29, 10))
	path, faulty := filepath.Join(t.TempDir(), "faulty.yaml"), 0
	const files = 80
	for range files {
		text, err := os.ReadFile(examples[rng.IntN(len(examples))])
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return line == "" || strings.HasPrefix(line, "#")
		})
		at := rng.IntN(len(lines))
		words := regexp.MustCompile(`[a-z_]{3,}|[0-9]+`).FindAllStringIndex(lines[at], -1)
		switch fault := rng.IntN(4); {
		case fault == 0:
			lines = slices.Delete(lines, at, at+1)
		case fault == 1:
			lines = slices.Insert(lines, at, lines[at])
		case len(words) > 0:
			w := words[rng.IntN(len(words))]
			lines[at] = lines[at][:w[0]] + []string{"0", "other", "-1", "100000"}[rng.IntN(4)] + lines[at][w[1]:]
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if !sayTheSame(t, path) {
			faulty++
		}
	}
	if faulty < files/3 {
		t.Errorf("%d of %d files are faulty, which shows little", faulty, files)
	}
}

// sayTheSame reports whether a file is valid, of which validate and run --dry-run must say the same.
func sayTheSame(t *testing.T, path string) (valid bool) {
	t.Helper()
	said, warned := make(map[string]string), make(map[string][]string)
	for _, args := range [][]string{{"validate", path}, {"run", path, "--dry-run"}} {
		var out, errs bytes.Buffer
		code := Main(Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			Environ: []string{"HOME=" + t.TempDir()}})
		if code != 0 {
			said[args[0]] = errs.String()
		}
		for line := range strings.Lines(errs.String()) {
			if strings.Contains(line, "warning:") {
				warned[args[0]] = append(warned[args[0]], line)
			}
		}
	}
	for _, line := range warned["run"] {
		if said["run"] == "" && !slices.Contains(warned["validate"], line) {
			t.Errorf("%s: run --dry-run warns, and validate does not: %s", path, line)
		}
	}
	if !strings.HasSuffix(said["run"], said["validate"]) || (said["run"] == "") != (said["validate"] == "") {
		text, _ := os.ReadFile(path)
		t.Errorf("%s: validate says %q, and run --dry-run %q of\n%s", path, said["validate"], said["run"], text)
	}
	return said["validate"] == ""
}
