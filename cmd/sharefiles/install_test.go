package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/cli"
)

// TestInstall installs below a folder and removes it all again, but not the
// configuration, which belongs to the machine's administrator by then.
func TestInstall(t *testing.T) {
	share, dest := t.TempDir(), t.TempDir()
	if err := writeAll(share, cli.Commands(), testEdition); err != nil {
		t.Fatal(err)
	}
	script := func(what string) {
		t.Helper()
		run(t, ".", []string{"DESTDIR=" + dest, "PREFIX=/opt/tools", "SYSCONFDIR=", "BIN=/bin/true", "SHARE=" + share}, "../../scripts/install.sh", what)
	}
	script("install")
	all := files(t, dest)
	for _, want := range []string{
		"opt/tools/bin/scalebench -rwxr-xr-x",
		"opt/tools/share/man/man1/scalebench.1.gz -rw-r--r--",
		"opt/tools/share/man/man1/scalebench-run.1.gz -rw-r--r--",
		"opt/tools/share/bash-completion/completions/scalebench -rw-r--r--",
		"opt/tools/share/zsh/site-functions/_scalebench -rw-r--r--",
		"opt/tools/share/fish/vendor_completions.d/scalebench.fish -rw-r--r--",
		"opt/tools/lib/systemd/system/scalebench-server.service -rw-r--r--",
		"opt/tools/lib/systemd/system/scalebench-agent.service -rw-r--r--",
		"etc/scalebench/server.env -rw-------",
		"etc/scalebench/agent.env -rw-------",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("make install does not install %s; it installs\n%s", want, strings.Join(all, "\n"))
		}
	}
	unit := read(t, filepath.Join(dest, "opt/tools/lib/systemd/system/scalebench-agent.service"))
	if !strings.Contains(unit, "\nExecStart=/opt/tools/bin/scalebench agent ") {
		t.Errorf("the agent's unit does not start the program that was installed:\n%s", unit)
	}

	changed := filepath.Join(dest, "etc/scalebench/agent.env")
	if err := os.WriteFile(changed, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	script("install")
	if got := read(t, changed); got != "mine" {
		t.Errorf("installing again replaced the configuration by %q", got)
	}
	script("uninstall")
	left := []string{"etc/scalebench/agent.env -rw-------", "etc/scalebench/server.env -rw-------"}
	if got := files(t, dest); !slices.Equal(got, left) {
		t.Errorf("make uninstall leaves %q, want %q", got, left)
	}
}

// TestVersion holds scripts/version.sh to what dpkg and rpm make of versions.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "scripts", "version.sh")
	if err := os.WriteFile(script, []byte(read(t, "../../scripts/version.sh")), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir),
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t.invalid", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t.invalid",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	git := func(args ...string) string { return run(t, dir, env, "git", args...) }
	commit := func() string {
		git("commit", "--quiet", "--allow-empty", "-m", "more")
		return "g" + git("rev-parse", "--short=12", "HEAD")
	}
	check := func(when, want string) {
		t.Helper()
		if got := run(t, dir, env, script); got != want {
			t.Errorf("%s: version.sh = %q, want %q", when, got, want)
		}
	}
	check("without a repository", "")
	git("init", "--quiet")
	git("add", "scripts")
	first := commit()
	check("before any tag", "0.0.0+1."+first)
	if got := run(t, dir, env, script, "date"); got != "1700000000" {
		t.Errorf("version.sh date = %q, want the commit's, 1700000000", got)
	}
	git("tag", "v1.2.0-rc1")
	check("at a tag before a release", "1.2.0~rc1")
	git("tag", "--delete", "v1.2.0-rc1")
	git("tag", "v1.2.0")
	check("at a tag", "1.2.0")
	later := commit()
	check("after a tag", "1.2.0+1."+later)
	if err := os.WriteFile(script, []byte(read(t, script)+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("with changes", "1.2.0+1."+later+".dirty")
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// files lists what is below a folder, with permissions.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		all = append(all, strings.TrimPrefix(path, dir+"/")+" "+info.Mode().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
