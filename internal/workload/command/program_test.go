package command

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/workload"
)

// TestTools: only what the command cannot do without is looked for. "" stands
// for nothing.
func TestTools(t *testing.T) {
	for command, want := range map[string]string{
		"ffmpeg -i a.mp4 b.mkv":                 "ffmpeg",
		"  7z b -mmt2 1\n":                      "7z",
		"LC_ALL=C A=1 fio --version":            "fio",
		"fio job.fio 2>&1 | tail -n 1":          "fio",
		"stress-ng --cpu 1 &>log && cat log":    "stress-ng",
		"x264 $(cat args) \"a b\"":              "x264",
		"sudo fio job":                          "sudo",
		"":                                      "",
		"true":                                  "",
		"cd /bench && ffmpeg":                   "",
		"if which fio; then fio; fi":            "",
		"stress-ng --cpu 1 || stress --cpu 1":   "",
		"fio a; fio b":                          "",
		"fio a\nfio b":                          "",
		"fio --server & fio --client localhost": "",
		"./bench":                               "",
		"/opt/bench/run":                        "",
		"~/bench":                               "",
		"$HOME/bench":                           "",
		"bin/bench":                             "",
		"\"my tool\"":                           "",
		"(fio a)":                               "",
		"{ fio a":                               "",
		"! fio":                                 "",
		"time fio":                              "",
		"fio<job":                               "",
		"PATH=/opt:$PATH fio":                   "",
		"PATH=/opt fio":                         "",
		"A=$(make fio) fio":                     "",
		"A='x y' fio":                           "",
		"# fio":                                 "",
	} {
		var tools []workload.Tool
		if want != "" {
			tools = []workload.Tool{{Name: want}}
		}
		if diff := cmp.Diff(tools, (&Params{Command: command, Shell: DefaultShell}).Tools()); diff != "" {
			t.Errorf("Tools of %q (-want +got):\n%s", command, diff)
		}
	}
	for name, tt := range map[string]struct {
		params Params
		want   []workload.Tool
	}{
		"path": {
			Params{Command: "fio", Shell: DefaultShell, Path: "/a", Env: map[string]string{"PATH": "/b"}},
			[]workload.Tool{{Name: "fio", Path: "/a"}},
		},
		"env": {
			Params{Command: "fio", Shell: DefaultShell, Env: map[string]string{"PATH": "/b"}},
			[]workload.Tool{{Name: "fio", Path: "/b"}},
		},
		"another shell": {
			Params{Command: "fio", Shell: "/usr/bin/bash"},
			[]workload.Tool{{Name: "/usr/bin/bash"}, {Name: "fio"}},
		},
		"no shell": {
			Params{Command: "import os", Shell: "/usr/bin/python3"},
			[]workload.Tool{{Name: "/usr/bin/python3"}},
		},
	} {
		if diff := cmp.Diff(tt.want, tt.params.Tools()); diff != "" {
			t.Errorf("%s: Tools (-want +got):\n%s", name, diff)
		}
	}
}

func TestMayInstall(t *testing.T) {
	for command, want := range map[string]bool{
		"ffmpeg -i a b":               false,
		"fio job 2>&1 | tail -n 1":    false,
		"sleep 1":                     false,
		"apt-get install -y fio":      true,
		"./setup.sh":                  true,
		"make -C bench":               true,
		"ffmpeg && ./setup.sh":        true,
		"echo x > /usr/local/bin/fio": true,
		"curl https://x | sh":         true,
		"fio $(./setup.sh)":           true,
		"fio `./setup.sh`":            true,
		"true; ./setup.sh":            true,
		"true\n./setup.sh":            true,
		"A=1 fio":                     true, // not certain, and so it may
		"|":                           true,
	} {
		if got := (&Params{Command: command}).MayInstall(); got != want {
			t.Errorf("MayInstall of %q = %v, want %v", command, got, want)
		}
	}
}
