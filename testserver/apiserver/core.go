package apiserver

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
)

var namespaceKind = builtin.CoreV1.WithKind("Namespace")

// coreKinds returns the kinds of the core group.
func coreKinds() []kind {
	return []kind{
		bindings(),
		{Kind: builtin.ConfigMaps()},
		{Kind: builtin.Endpoints(), complete: deprecated("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 " +
			"EndpointSlice")},
		{Kind: builtin.LimitRanges()},
		namespaces(),
		{Kind: builtin.Nodes(), parts: []extraPart{proxyPart("NodeProxyOptions")}},
		{Kind: builtin.VolumeClaims()},
		{Kind: builtin.Volumes()},
		{Kind: builtin.Pods(), parts: podParts()},
		{Kind: builtin.PodTemplates()},
		{Kind: builtin.ReplicationControllers()},
		{Kind: builtin.ResourceQuotas()},
		{Kind: builtin.Secrets()},
		serviceAccounts(),
		{Kind: builtin.Services(), parts: []extraPart{proxyPart("ServiceProxyOptions")}},
	}
}

// deprecated adds a deprecation warning to all requests for a kind.
func deprecated(text string) func(*Server, *registry, *endpoint) {
	return func(_ *Server, _ *registry, e *endpoint) { e.warnings = []string{text} }
}

// proxyPart returns the subresource that proxies requests to a node or service. In this server, it has no backend.
func proxyPart(options string) extraPart {
	return extraPart{
		name: "proxy", kind: builtin.CoreV1.WithKind(options), verbs: proxyVerbs,
		part: func(*Server, *registry, *kind, family) part { return part{serve: unavailable} },
	}
}

func unavailable(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	err := apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", info.Name))
	responsewriters.ErrorNegotiated(err, metaCodecs, builtin.CoreV1, w, r)
}
