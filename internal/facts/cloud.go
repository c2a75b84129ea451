package facts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/scalebench/scalebench/internal/model"
)

// CloudOptions are what tests replace.
type CloudOptions struct {
	// Client sends the requests; nil is a client without proxy, redirects and
	// kept connections.
	Client *http.Client
	// Base replaces the address of every service, "http://host:port".
	Base string
}

const cloudTimeout = time.Second

type provider struct {
	name string
	base string
	// hinted reports whether the firmware says that this is the machine of
	// such a cloud.
	hinted func(root tree) bool
	// ask returns the instance's type, zone and id.
	ask func(ctx context.Context, c client) (kind, zone, id string, err error)
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

// OnEC2 reports whether the firmware says that this is a machine of Amazon EC2.
func OnEC2() bool { return hintEC2(tree{os.DirFS("/")}) }

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

// askCloud asks the metadata service that the firmware hints at; nil where it
// hints at none. The error says why the service gave no answer.
func askCloud(ctx context.Context, root tree, opts CloudOptions) (*model.CloudInfo, error) {
	for _, p := range providers() {
		if p.hinted(root) {
			return p.info(ctx, opts)
		}
	}
	return nil, nil
}

func (p provider) info(ctx context.Context, opts CloudOptions) (*model.CloudInfo, error) {
	if opts.Client == nil { // a proxy must not see the requests, and nothing else than the service may answer them
		opts.Client = &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	kind, zone, id, err := p.ask(ctx, client{http: opts.Client, base: cmp.Or(opts.Base, p.base)})
	info := model.CloudInfo{Provider: p.name, InstanceType: word(kind), Zone: word(zone), InstanceID: word(id)}
	if err == nil && info.InstanceID == "" {
		err = errNoInstance
	}
	if err != nil {
		return nil, fmt.Errorf("asking the metadata service of %s: %w", p.name, err)
	}
	return &info, nil
}

type client struct {
	http *http.Client
	base string
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// do sends a request and returns the whole answer and its headers.
func (c client) do(ctx context.Context, method, path string, header ...string) (string, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return "", nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read; there is nothing to lose
	if resp.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return string(body), resp.Header, err
}

func (c client) get(ctx context.Context, path string, header ...string) (string, error) {
	body, _, err := c.do(ctx, http.MethodGet, path, header...)
	return body, err
}

func (c client) getJSON(ctx context.Context, v any, path string, header ...string) error {
	body, err := c.get(ctx, path, header...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), v); err != nil {
		return fmt.Errorf("decoding the answer of %s: %w", path, err)
	}
	return nil
}

// errNoInstance says that the answer is not that of the service.
var errNoInstance = errors.New("the answer names no instance")

// word returns s without the space around it, or nothing if it cannot be the name of a
// type, zone or instance: markup, JSON, or far too long. It goes into reports.
func word(s string) string {
	s = strings.TrimSpace(s)
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._:/+-@()", r)
	}
	if len(s) > 128 || strings.ContainsFunc(s, odd) {
		return ""
	}
	return s
}

// askEC2 speaks version 2 of the service (IMDSv2): a token first, then the
// identity document.
func askEC2(ctx context.Context, c client) (kind, zone, id string, err error) {
	var doc struct {
		InstanceID       string `json:"instanceId"`
		InstanceType     string `json:"instanceType"`
		AvailabilityZone string `json:"availabilityZone"`
	}
	token, _, err := c.do(ctx, http.MethodPut, "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "60")
	if err == nil {
		err = c.getJSON(ctx, &doc, "/latest/dynamic/instance-identity/document", "X-aws-ec2-metadata-token", token)
	}
	return doc.InstanceType, doc.AvailabilityZone, doc.InstanceID, err
}

// askGCE asks for three values and not for the whole tree, which may hold the
// user's secrets. Types and zones come as paths; their last element counts.
func askGCE(ctx context.Context, c client) (kind, zone, id string, err error) {
	return three(func(name string) (string, error) {
		const header = "Metadata-Flavor"
		body, answer, err := c.do(ctx, http.MethodGet, "/computeMetadata/v1/instance/"+name, header, "Google")
		if err == nil && answer.Get(header) != "Google" {
			err = errNoInstance
		}
		return path.Base(strings.TrimSpace(body)), err
	}, "machine-type", "zone", "id")
}

// three asks for the values of three names.
func three(ask func(name string) (string, error), kind, zone, id string) (_, _, _ string, err error) {
	values := []string{kind, zone, id}
	for i, name := range values {
		if err == nil {
			values[i], err = ask(name)
		}
	}
	return values[0], values[1], values[2], err
}

// askAzure names a zone "westeurope-1", or by the region where the machine is
// in no zone.
func askAzure(ctx context.Context, c client) (kind, zone, id string, err error) {
	var doc struct {
		VMID     string `json:"vmId"`
		VMSize   string `json:"vmSize"`
		Location string `json:"location"`
		Zone     string `json:"zone"`
	}
	err = c.getJSON(ctx, &doc, "/metadata/instance/compute?api-version=2021-02-01", "Metadata", "true")
	if doc.Zone != "" {
		doc.Location += "-" + doc.Zone
	}
	return doc.VMSize, doc.Location, doc.VMID, err
}

// askAliyun takes a token where the service gives one; machines that are not
// hardened answer without.
func askAliyun(ctx context.Context, c client) (kind, zone, id string, err error) {
	var header []string
	token, _, err := c.do(ctx, http.MethodPut, "/latest/api/token", "X-aliyun-ecs-metadata-token-ttl-seconds", "60")
	if err == nil {
		header = []string{"X-aliyun-ecs-metadata-token", token}
	}
	return three(func(name string) (string, error) {
		return c.get(ctx, "/latest/meta-data/"+name, header...)
	}, "instance/instance-type", "zone-id", "instance-id")
}

// askOpenStack reads OpenStack's own document and, for the type, which that
// does not hold, the EC2-like tree beside it.
func askOpenStack(ctx context.Context, c client) (kind, zone, id string, err error) {
	var doc struct {
		UUID             string `json:"uuid"`
		AvailabilityZone string `json:"availability_zone"`
	}
	if err = c.getJSON(ctx, &doc, "/openstack/latest/meta_data.json"); err == nil {
		// Some installations switch the EC2-like tree off; then the type is empty.
		kind, _ = c.get(ctx, "/latest/meta-data/instance-type")
	}
	return kind, doc.AvailabilityZone, doc.UUID, err
}
