package facts

import (
	"cmp"
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
	// none where it hints at none; "none" asks none.
	Providers []string
	// Timeout bounds all of it together; zero is one second.
	Timeout time.Duration
	// Client sends the requests; nil is a client without proxy, redirects and
	// kept connections.
	Client *http.Client
	// Base replaces the address of every service, "http://host:port".
	Base string
}

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

const huaweiTag = "HUAWEICLOUD"

// azureTag is the asset tag of every Azure machine. The vendor, Microsoft, is
// that of any Hyper-V, too.
const azureTag = "7783-7084-3265-9085-8269-3286-77"

// providers returns all clouds that we know, with the signs by which a machine's
// firmware (DMI) tells its cloud. They follow the clouds' own documentation and
// cloud-init's ds-identify. None of them is shared by two clouds, and none is
// set on a machine that is in no cloud.
func providers() []provider {
	return []provider{
		{"ec2", linkLocal, hintEC2, askEC2},
		{"gce", linkLocal, dmiIs("product_name", "Google Compute Engine"), askGCE},
		{"azure", linkLocal, dmiIs("chassis_asset_tag", azureTag), askAzure},
		{"aliyun", "http://100.100.100.200", dmiIs("product_name", "Alibaba Cloud ECS"), askAliyun},
		{"huawei", linkLocal, dmiIs("chassis_asset_tag", huaweiTag), askOpenStack},
		{"openstack", linkLocal, hintOpenStack, askOpenStack},
	}
}

func dmiIs(file, value string) func(tree) bool {
	return func(root tree) bool { return dmi(root, file) == value }
}

func hintEC2(root tree) bool {
	if dmi(root, "sys_vendor") == "Amazon EC2" {
		return true
	}
	// Older, Xen-based types have no vendor of their own.
	return strings.HasPrefix(strings.ToLower(root.text("sys/hypervisor/uuid")), "ec2") &&
		strings.Contains(dmi(root, "bios_version"), "amazon")
}

func hintOpenStack(root tree) bool {
	tag, product := dmi(root, "chassis_asset_tag"), dmi(root, "product_name")
	return tag == "OpenTelekomCloud" ||
		tag != huaweiTag && (product == "OpenStack Nova" || product == "OpenStack Compute") // Huawei calls itself OpenStack, too
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
		opts.Timeout = time.Second
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
		wg.Go(func() {
			infos[i], errs[i] = p.ask(ctx, client{http: opts.Client, base: cmp.Or(opts.Base, p.base)})
			infos[i].Provider = p.name
			if errs[i] != nil {
				errs[i] = fmt.Errorf("asking the metadata service of %s: %w", p.name, errs[i])
			}
		})
	}
	wg.Wait()
	for i := range chosen {
		if errs[i] == nil {
			return &infos[i], nil
		}
	}
	return nil, errors.Join(errs...)
}

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
			return nil, fmt.Errorf("%w: cloud %q is not known; use %s or none", model.ErrUsage, name, providerNames(all))
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
