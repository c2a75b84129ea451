package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// CloudOptions says which metadata services are asked, and how.
type CloudOptions struct {
	// Providers names the services to ask ("ec2", "gce", "azure", "openstack",
	// "huawei", "aliyun"). Empty asks those that the firmware hints at, and
	// nobody where it hints at none; "none" asks nobody.
	Providers []string
	// Timeout bounds all of it together; zero is one second.
	Timeout time.Duration
	// Client sends the requests; nil is a client without proxy, redirects and
	// kept connections.
	Client *http.Client
	// Base replaces the address of every service, "http://host:port".
	Base string
}

const defaultTimeout = time.Second

// provider is one cloud's metadata service.
type provider struct {
	name string
	base string
	// hinted reports whether the firmware says that this is the machine of
	// such a cloud.
	hinted func(root tree) bool
	ask    func(ctx context.Context, c client) (model.CloudInfo, error)
}

// linkLocal is where most clouds keep their metadata: an address that is never
// routed, so that the request cannot leave the host's own network.
const linkLocal = "http://169.254.169.254"

// providers returns all clouds that we know.
func providers() []provider {
	return []provider{
		{"ec2", linkLocal, hintEC2, askEC2},
		{"gce", linkLocal, hintGCE, askGCE},
		{"azure", linkLocal, hintAzure, askAzure},
		{"aliyun", "http://100.100.100.200", hintAliyun, askAliyun},
		{"huawei", linkLocal, hintHuawei, askOpenStack},
		{"openstack", linkLocal, hintOpenStack, askOpenStack},
	}
}

// askCloud asks the metadata services concurrently and returns the answer of
// the first in the list that has one; nil where there is none to ask. The
// error says why a service that should be there gave no answer.
func askCloud(ctx context.Context, root tree, opts CloudOptions) (*model.CloudInfo, error) {
	chosen, err := choose(root, opts.Providers)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.Client == nil {
		opts.Client = newClient()
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	infos := make([]model.CloudInfo, len(chosen))
	errs := make([]error, len(chosen))
	var wg sync.WaitGroup
	for i, p := range chosen {
		wg.Go(func() { infos[i], errs[i] = askOne(ctx, p, opts) })
	}
	wg.Wait()
	for i := range chosen {
		if errs[i] == nil {
			return &infos[i], nil
		}
	}
	return nil, errors.Join(errs...)
}

// askOne asks one service and names it in the answer.
func askOne(ctx context.Context, p provider, opts CloudOptions) (model.CloudInfo, error) {
	base := p.base
	if opts.Base != "" {
		base = opts.Base
	}
	info, err := p.ask(ctx, client{http: opts.Client, base: base})
	if err != nil {
		return info, fmt.Errorf("asking the metadata service of %s: %w", p.name, err)
	}
	info.Provider = p.name
	return info, nil
}

// choose returns the services to ask.
func choose(root tree, names []string) ([]provider, error) {
	all := providers()
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(p provider) bool { return !p.hinted(root) }), nil
	}
	if slices.Contains(names, "none") {
		return nil, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p provider) bool { return p.name == name }) {
			return nil, fmt.Errorf("%w: cloud %q is not known; want %s or none", model.ErrUsage, name, providerNames(all))
		}
	}
	return slices.DeleteFunc(all, func(p provider) bool { return !slices.Contains(names, p.name) }), nil
}

func providerNames(list []provider) string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}
