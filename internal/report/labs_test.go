package report

import (
	"io"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// someLabs are one of each state. The first has hosts of every kind.
func someLabs() []Lab {
	host := func(name, group, address string, l lab.Limits, paths map[string]string) lab.HostRecord {
		return lab.HostRecord{Host: lab.Host{Name: model.NodeID(name), Group: group, Address: address, Limits: l},
			Namespace: lab.Namespace{Name: "scalebench-abc123-" + name, Inode: 7}, Paths: paths}
	}
	service := host("web", "", "10.213.255.1", lab.Limits{}, nil)
	service.Service = &lab.Service{Name: "web", Command: "serve", Environ: map[string]string{"KEY": "secret"}}
	first := host("lab-a-1", "a", "10.213.1.1", lab.Limits{Link: unit.Rate{Value: 1e8, Base: unit.Bits}, CPU: 0.5, Memory: 256 * unit.MiB},
		map[string]string{"data": "/mnt/1", "all": "/dev/loop7"})
	first.Uplink = unit.Rate{Value: 3e8, Base: unit.Bits}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return []Lab{
		{State: LabKept, Manifest: lab.Manifest{Version: 1, ID: "abc123", Created: at, Keep: true, Owner: lab.Owner{PID: 41}, Dir: "/var/lib/abc123",
			Hosts: []lab.HostRecord{
				first,
				host("lab-a-2", "a", "10.213.1.2", lab.Limits{}, nil), host("lab-a-3", "a", "10.213.1.3", lab.Limits{}, nil),
				host("lab-a-4", "a", "10.213.1.4", lab.Limits{}, nil), service,
			},
			Volumes: []lab.VolumeRecord{
				{Volume: lab.Volume{Name: "data", Size: 256 * unit.MiB, IOPS: 400, Bandwidth: unit.Rate{Value: 80 << 20, Base: unit.Bytes}}, Hosts: []string{"lab-a-1"}, Mount: "/mnt/1"},
				{Volume: lab.Volume{Name: "data", Size: 64 * unit.MiB}, Hosts: []string{"lab-a-2"}},
				{Volume: lab.Volume{Name: "all", Type: lab.Raw, Shared: true}, Hosts: []string{"lab-a-1", "lab-a-2"}, Device: "/dev/loop7"},
			}}},
		{State: LabRunning, Manifest: lab.Manifest{Version: 1, ID: "b", Created: at, Owner: lab.Owner{PID: 42}, Dir: "/var/lib/b",
			Hosts: []lab.HostRecord{host("lab-1", "", "10.213.0.1", lab.Limits{}, nil)}}},
		{State: LabLeftOver, Manifest: lab.Manifest{Version: 1, ID: "c", Created: at, Owner: lab.Owner{PID: 43}, Dir: "/var/lib/c"}},
	}
}

func TestLabsGolden(t *testing.T) {
	for name, f := range map[string]Format{"labs.txt": Text, "labs.csv": CSV, "labs.json": JSON} {
		golden(t, name, func(w io.Writer) error { return Labs(w, someLabs(), f, Options{}) })
	}
	for name, f := range map[string]Format{"labs-none.txt": Text, "labs-none.csv": CSV, "labs-none.json": JSON} {
		golden(t, name, func(w io.Writer) error { return Labs(w, nil, f, Options{}) })
	}
	for name, f := range map[string]Format{"lab-hosts.txt": Text, "lab-hosts.csv": CSV} {
		golden(t, name, func(w io.Writer) error { return LabHosts(w, someLabs()[0], f, Options{}) })
	}
}
