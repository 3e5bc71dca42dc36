package authority

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/clientconfig"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Target is an API object that contains CA bundles, which the API server uses when it calls a webhook.
type Target struct {
	kind string // key of targetKinds
	name string
}

// targetKinds are the kinds of targets, by their prefix in ParseTarget.
var targetKinds = map[string]schema.GroupVersionKind{
	"mutating":   {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	"validating": {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	"crd":        {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	"apiservice": {Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	"provider":   {Group: "externaldata.gatekeeper.sh", Version: "v1beta1", Kind: "Provider"},
}

// ParseTarget parses a target. mutating/NAME and validating/NAME are webhook configurations, crd/NAME is a
// CustomResourceDefinition, apiservice/NAME an APIService, and provider/NAME a Gatekeeper Provider.
func ParseTarget(text string) (Target, error) {
	kind, name, _ := strings.Cut(text, "/")
	if targetKinds[kind].Empty() || name == "" || strings.Contains(name, "/") {
		return Target{}, fmt.Errorf("%q: want mutating/NAME, validating/NAME, crd/NAME, apiservice/NAME or provider/NAME",
			text)
	}
	return Target{kind, name}, nil
}

// String returns the form that [ParseTarget] parses.
func (t Target) String() string { return t.kind + "/" + t.name }

// object returns the target with only its kind and name.
func (t Target) object() *unstructured.Unstructured { return newObject(targetKinds[t.kind], t.name) }

func newObject(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	return u
}

// trust is a target with its client configurations.
type trust struct {
	target  Target
	object  *unstructured.Unstructured
	configs map[string]map[string]any // parts of object, see [clientconfig.Of]
}

// read reads the target from the API server.
func (t Target) read(ctx context.Context, live client.Client) (*trust, error) {
	u := t.object()
	if err := answered(live.Get(ctx, object.Key{Name: t.name}, u)); err != nil {
		return nil, err
	}
	configs, err := clientconfig.Of(u)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", u.GetKind(), t.name, err)
	}
	return &trust{t, u, configs}, nil
}

// names returns the names by which the API server calls the webhooks of the target, which are the names of Services and
// the hosts of URLs. It skips invalid names and reports them in the error.
func (t *trust) names() ([]string, error) {
	var names, wrong []string
	for _, config := range t.configs {
		host := ""
		if service, ok := config["service"].(map[string]any); ok {
			host = fmt.Sprintf("%v.%v.svc", service["name"], service["namespace"])
		} else if u, err := url.Parse(fmt.Sprint(config["url"])); err == nil {
			host = u.Hostname()
		}
		if host == "" {
			continue
		}
		switch name, err := normalName(host); {
		case err != nil:
			wrong = append(wrong, err.Error())
		case strings.HasPrefix(name, "*"):
			wrong = append(wrong, fmt.Sprintf("%q: want a DNS name or an IP address, and not a pattern", host))
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Sort(wrong)
	if len(wrong) > 0 {
		return slices.Compact(names), fmt.Errorf("%s has an invalid name of the server: %s", t.target,
			strings.Join(slices.Compact(wrong), "; "))
	}
	return slices.Compact(names), nil
}

// has reports whether all CA bundles of the target equal bundle.
func (t *trust) has(bundle []byte) bool {
	text := base64.StdEncoding.EncodeToString(bundle)
	for _, config := range t.configs {
		if config["caBundle"] != text {
			return false
		}
	}
	return true
}

// inject sets the CA bundles of the target. It fails if the target has changed since it was read.
func (t *trust) inject(ctx context.Context, live *client.REST, bundle []byte) error {
	text := base64.StdEncoding.EncodeToString(bundle)
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	patch := []operation{{"test", "/metadata/resourceVersion", t.object.GetResourceVersion()}}
	for path := range t.configs {
		patch = append(patch, operation{"add", path + "/caBundle", text})
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	u := t.target.object()
	if err := live.Patch(ctx, u, client.RawPatch(types.JSONPatchType, body)); err != nil {
		return err
	}
	t.object = u
	t.configs, err = clientconfig.Of(u)
	return err
}
