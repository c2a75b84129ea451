package workload

import (
	"os"
	"path/filepath"
	"testing"
)

func TestToolMissing(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("tool", 0o700)
	write("text", 0o600)
	here := []string{"PATH=/dev/null:" + dir}
	for _, tt := range []struct {
		name    string
		tool    Tool
		environ []string
		want    bool
	}{
		{"there", Tool{Name: "tool"}, here, false},
		{"not there", Tool{Name: "other"}, here, true},
		{"not executable", Tool{Name: "text"}, here, true},
		{"a PATH of its own", Tool{Name: "tool", Path: "/dev/null"}, here, true},
		{"on its own PATH", Tool{Name: "tool", Path: dir}, nil, false},
		{"a relative PATH", Tool{Name: "other", Path: "/dev/null:bin"}, here, false},
		{"an empty element", Tool{Name: "other", Path: "/dev/null:"}, here, false},
		{"a variable in the PATH", Tool{Name: "other", Path: "$HOME/bin"}, here, false},
		{"no PATH", Tool{Name: "other"}, nil, false},
		{"a path", Tool{Name: filepath.Join(dir, "tool")}, nil, false},
		{"a path to nothing", Tool{Name: filepath.Join(dir, "other")}, here, true},
	} {
		if got := tt.tool.Missing(tt.environ); got != tt.want {
			t.Errorf("%s: Missing = %v, want %v", tt.name, got, tt.want)
		}
	}
	tool := Tool{Name: "late"}
	if !tool.Missing(here) {
		t.Error("late is there before it is")
	}
	write("late", 0o700)
	if tool.Missing(here) {
		t.Error("late is missing after it was installed")
	}
}

func TestInstallLine(t *testing.T) {
	for system, want := range map[string]string{
		"Debian GNU/Linux 12 (bookworm)":           "apt-get install fio bash",
		"Ubuntu 24.04.1 LTS":                       "apt-get install fio bash",
		"Fedora Linux 40 (Server Edition)":         "dnf install fio bash",
		"Red Hat Enterprise Linux 9.4 (Plow)":      "dnf install fio bash",
		"Amazon Linux 2023.6.20241121":             "dnf install fio bash",
		"AlmaLinux 9.4 (Seafoam Ocelot)":           "dnf install fio bash",
		"Alpine Linux v3.20":                       "apk add fio bash",
		"openSUSE Leap 15.6":                       "zypper install fio bash",
		"Arch Linux":                               "pacman -S fio bash",
		"darwin":                                   "brew install fio bash",
		"":                                         "apt-get install fio bash (Debian, Ubuntu) or dnf install fio bash (Fedora, RHEL)",
		"Some Other Linux, much like Debian's own": "apt-get install fio bash (Debian, Ubuntu) or dnf install fio bash (Fedora, RHEL)",
	} {
		if got := InstallLine(system, "fio", "/usr/bin/bash"); got != want {
			t.Errorf("InstallLine(%q) = %q, want %q", system, got, want)
		}
	}
	if got := InstallLine("Debian", "fio", "my-benchmark"); got != "" {
		t.Errorf("InstallLine of an unknown package = %q, want none", got)
	}
}
