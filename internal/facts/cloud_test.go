package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a metadata service as the provider documents it: it answers only
// who asks as documented.
type service struct {
	// token is the header with which a token is asked for; empty: no tokens.
	// The header that presents it is the same without "-ttl-seconds".
	token string
	// need is a header that every request must have, "Name: value".
	need  string
	pages map[string]string
}

func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const secret = "a-token"
	if s.token != "" && r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" {
		if r.Header.Get(s.token) == "" {
			http.Error(w, "no ttl", http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, secret)
		return
	}
	if s.token != "" && r.Header.Get(strings.TrimSuffix(s.token, "-ttl-seconds")) != secret {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	name, value, _ := strings.Cut(s.need, ": ")
	if s.need != "" && r.Header.Get(name) != value {
		http.Error(w, "no header", http.StatusForbidden)
		return
	}
	page, ok := s.pages[r.URL.RequestURI()]
	if !ok || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	if s.need != "" {
		w.Header().Set(name, value)
	}
	_, _ = fmt.Fprint(w, page)
}

// cloud is a cloud's machine, its service, and what we should learn of it.
type cloud struct {
	name    string
	machine fstest.MapFS
	service service
	want    model.CloudInfo
}

func dmiTree(words ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(words); i += 2 {
		files["sys/class/dmi/id/"+words[i]] = &fstest.MapFile{Data: []byte(words[i+1] + "\n")}
	}
	return files
}

func clouds() []cloud {
	openstack := map[string]string{
		"/openstack/latest/meta_data.json": `{"uuid":"6f1a","name":"n","availability_zone":"az-1","meta":{}}`,
		"/latest/meta-data/instance-type":  "s6.large.2",
	}
	return []cloud{
		{"ec2", dmiTree("sys_vendor", "Amazon EC2"), service{
			token: "X-aws-ec2-metadata-token-ttl-seconds",
			pages: map[string]string{"/latest/dynamic/instance-identity/document": `{"accountId":"1","instanceId":"i-0123","instanceType":"m5.large","availabilityZone":"us-east-1a"}`},
		}, model.CloudInfo{Provider: "ec2", InstanceType: "m5.large", Zone: "us-east-1a", InstanceID: "i-0123"}},
		{"gce", dmiTree("product_name", "Google Compute Engine"), service{
			need: "Metadata-Flavor: Google",
			pages: map[string]string{
				"/computeMetadata/v1/instance/machine-type": "projects/12/machineTypes/n2-standard-4",
				"/computeMetadata/v1/instance/zone":         "projects/12/zones/europe-west1-b",
				"/computeMetadata/v1/instance/id":           "7254561247890123456",
			},
		}, model.CloudInfo{Provider: "gce", InstanceType: "n2-standard-4", Zone: "europe-west1-b", InstanceID: "7254561247890123456"}},
		{"azure", dmiTree("chassis_asset_tag", azureTag), service{
			need:  "Metadata: true",
			pages: map[string]string{"/metadata/instance/compute?api-version=2021-02-01": `{"vmId":"02aa","vmSize":"Standard_D2s_v5","location":"westeurope","zone":"1"}`},
		}, model.CloudInfo{Provider: "azure", InstanceType: "Standard_D2s_v5", Zone: "westeurope-1", InstanceID: "02aa"}},
		{"aliyun", dmiTree("product_name", "Alibaba Cloud ECS"), service{
			token: "X-aliyun-ecs-metadata-token-ttl-seconds",
			pages: map[string]string{
				"/latest/meta-data/instance/instance-type": "ecs.g7.large",
				"/latest/meta-data/zone-id":                "cn-hangzhou-b",
				"/latest/meta-data/instance-id":            "i-bp1",
			},
		}, model.CloudInfo{Provider: "aliyun", InstanceType: "ecs.g7.large", Zone: "cn-hangzhou-b", InstanceID: "i-bp1"}},
		{"huawei", dmiTree("chassis_asset_tag", "HUAWEICLOUD", "product_name", "OpenStack Nova"), service{pages: openstack},
			model.CloudInfo{Provider: "huawei", InstanceType: "s6.large.2", Zone: "az-1", InstanceID: "6f1a"}},
		{"openstack", dmiTree("product_name", "OpenStack Compute"), service{pages: openstack},
			model.CloudInfo{Provider: "openstack", InstanceType: "s6.large.2", Zone: "az-1", InstanceID: "6f1a"}},
	}
}

// start runs a metadata service on loopback.
func start(t *testing.T, h http.Handler) (base string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAskCloud(t *testing.T) {
	for _, c := range clouds() {
		t.Run(c.name, func(t *testing.T) {
			got, err := askCloud(t.Context(), tree{c.machine}, CloudOptions{Base: start(t, c.service)})
			if err != nil {
				t.Fatalf("askCloud: %v", err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("askCloud (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAskCloudHintsOnce proves that each cloud's machine makes us ask that
// cloud and no other.
func TestAskCloudHintsOnce(t *testing.T) {
	for _, c := range clouds() {
		for _, p := range providers() {
			if got := p.hinted(tree{c.machine}); got != (p.name == c.name) {
				t.Errorf("the machine of %s hints at %s: %v", c.name, p.name, got)
			}
		}
	}
}

func TestAskCloudAliyunWithoutToken(t *testing.T) {
	c := clouds()[3]
	c.service.token = "" // a machine that is not hardened
	got, err := askCloud(t.Context(), tree{c.machine}, CloudOptions{Base: start(t, c.service)})
	if err != nil || got.InstanceID != c.want.InstanceID {
		t.Errorf("askCloud = %+v, %v, want %+v", got, err, c.want)
	}
}

// TestAskCloudNobody: where nothing speaks of a cloud, no request is sent.
func TestAskCloudNobody(t *testing.T) {
	tests := []struct {
		name string
		root fstest.MapFS
	}{
		{"no firmware", fstest.MapFS{}},
		{"own machine", dmiTree("sys_vendor", "LENOVO", "product_name", "20XW")},
		{"own hypervisor", dmiTree("sys_vendor", "QEMU", "product_name", "Standard PC")},
		{"Hyper-V that is not Azure", dmiTree("sys_vendor", "Microsoft Corporation", "product_name", "Virtual Machine")},
		{"Xen that is not EC2", fstest.MapFS{"sys/hypervisor/uuid": {Data: []byte("ec2f0a1b-0000")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := askCloud(t.Context(), tree{tt.root}, CloudOptions{Client: refusing(t)})
			if got != nil || err != nil {
				t.Errorf("askCloud = %+v, %v, want nil, nil", got, err)
			}
		})
	}
}

func TestAskCloudXenInstance(t *testing.T) {
	root := dmiTree("bios_version", "4.11.amazon")
	root["sys/hypervisor/uuid"] = &fstest.MapFile{Data: []byte("EC2e1916-9099\n")}
	if !hintEC2(tree{root}) {
		t.Error("hintEC2(Xen-based instance) = false, want true")
	}
}

// hang holds every request until the client gives up.
type hang struct{ asked chan string }

func (h hang) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	h.asked <- r.URL.Path
	<-r.Context().Done()
}

// TestAskCloudHangs: a service that never answers costs the timeout.
func TestAskCloudHangs(t *testing.T) {
	h := hang{asked: make(chan string, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got, err := askCloud(ctx, tree{dmiTree("sys_vendor", "Amazon EC2")}, CloudOptions{Base: start(t, h)})
	if got != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("askCloud(hanging) = %+v, %v, want nil, %v", got, err, context.DeadlineExceeded)
	}
}

// TestAskCloudImpostor: something else answers at the address, as captive
// portals and other people's servers do.
func TestAskCloudImpostor(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"page", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>Welcome</html>") }},
		{"empty document", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "{}") }},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }},
		{"endless answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"instanceId":"`+strings.Repeat("x", 2*maxAnswer)+`"}`)
		}},
	}
	for _, tt := range tests {
		for _, p := range providers() {
			t.Run(tt.name+"/"+p.name, func(t *testing.T) {
				got, err := p.info(t.Context(), CloudOptions{Base: start(t, tt.handler)})
				if got != nil || err == nil {
					t.Errorf("info = %+v, %v, want an error", got, err)
				}
			})
		}
	}
}

// TestCollectKeepsFacts: a metadata service that fails takes nothing away from
// the other facts.
func TestCollectKeepsFacts(t *testing.T) {
	root := dmiTree("sys_vendor", "Amazon EC2", "product_name", "m5.large")
	f, err := Collect(t.Context(), Options{
		Root: root, Hostname: "h",
		Interfaces: func() ([]Interface, error) { return nil, nil },
		Cloud:      CloudOptions{Base: start(t, http.NotFoundHandler())},
	})
	if err == nil || !strings.Contains(err.Error(), "metadata service of ec2") {
		t.Errorf("Collect: %v, want an error that names the service", err)
	}
	if f.Hypervisor != "amazon" || f.Cloud != nil {
		t.Errorf("Collect().Hypervisor, Cloud = %q, %+v, want amazon, nil", f.Hypervisor, f.Cloud)
	}
}
