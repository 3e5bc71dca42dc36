package apiserver

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// resourceInfo describes a resource or a subresource in discovery. The name of a subresource contains a slash.
type resourceInfo struct {
	gv   schema.GroupVersion
	kind schema.GroupVersionKind
	metav1.APIResource
}

// newResourceInfo completes the description of a resource that has objects of a kind.
func newResourceInfo(gv schema.GroupVersion, kind schema.GroupVersionKind, resource metav1.APIResource) resourceInfo {
	if resource.Kind = kind.Kind; kind.GroupVersion() != gv {
		resource.Group, resource.Version = kind.Group, kind.Version
	}
	return resourceInfo{gv, kind, resource}
}

// part returns a subresource.
func (r resourceInfo) part(name string, kind schema.GroupVersionKind, verbs []string) resourceInfo {
	return newResourceInfo(r.gv, kind, metav1.APIResource{Name: r.Name + "/" + name, Namespaced: r.Namespaced,
		Verbs: verbs})
}

var (
	allVerbs    = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	customVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	proxyVerbs  = []string{"create", "delete", "get", "patch", "update"}
	partVerbs   = []string{"get", "patch", "update"}
)

// resources returns the served resources in the order of the groups.
func (s *Server) resources() (found []resourceInfo) {
	for _, k := range builtinKinds() {
		found = append(found, resourcesOf(k)...)
	}
	found = append(found, resourcesOf(&definitionKind)...)
	for _, crd := range s.listDefinitions() {
		if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			found = append(found, customResources(crd)...)
		}
	}
	return found
}

func resourcesOf(k *kind) []resourceInfo {
	stored, verbs := k.stored(), k.Verbs
	if verbs == nil {
		verbs = allVerbs
	}
	hash := storageHash(stored.GVK)
	switch {
	case k.Answers(): // these resources are not stored
		hash = ""
	case k.GVK == definitionKind.GVK: // the real server stores definitions in their first version
		hash = storageHash(schema.GroupVersionKind{Group: k.GVK.Group, Version: "v1beta1", Kind: k.GVK.Kind})
	}
	one := newResourceInfo(k.GVK.GroupVersion(), k.GVK, metav1.APIResource{
		Name: k.Resource, SingularName: k.SingularName(), Namespaced: k.Namespaced, Verbs: verbs, ShortNames: k.Short,
		Categories: k.Categories, StorageVersionHash: hash,
	})
	found := []resourceInfo{one}
	for _, extra := range k.parts {
		found = append(found, one.part(extra.name, extra.kind, extra.verbs))
	}
	if stored.Scale != nil {
		found = append(found, one.part("scale", scaleKind, partVerbs))
	}
	if stored.Status != nil {
		found = append(found, one.part("status", k.GVK, partVerbs))
	}
	return found
}

func customResources(crd *apiextensionsv1.CustomResourceDefinition) (found []resourceInfo) {
	names, verbs, hash := crd.Status.AcceptedNames, customVerbs, ""
	if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating) {
		verbs = []string{"delete", "deletecollection", "get", "list", "watch"}
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			hash = storageHash(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
		}
	}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		one := newResourceInfo(gv, gv.WithKind(names.Kind), metav1.APIResource{
			Name: names.Plural, SingularName: names.Singular, Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			Verbs: verbs, ShortNames: names.ShortNames, Categories: names.Categories, StorageVersionHash: hash,
		})
		found = append(found, one)
		if v.Subresources != nil && v.Subresources.Status != nil {
			found = append(found, one.part("status", one.kind, partVerbs))
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			found = append(found, one.part("scale", scaleKind, partVerbs))
		}
	}
	return found
}

func storageHash(kind schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(kind.Group + "/" + kind.Version + "/" + kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// serveDiscovery serves all paths that are not paths of objects.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "healthz" || path == "livez" || path == "readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
	case path == "version":
		if routed(w, r, "application/json") {
			responsewriters.WriteRawJSON(http.StatusOK, versionInfo, w)
		}
	case path == "openapi/v2" || path == "openapi/v3" || strings.HasPrefix(path, "openapi/v3/"):
		s.serveOpenAPI(w, r, path)
	case path == "api":
		if routed(w, r, produced...) && !s.serveAggregated(w, r, true) {
			writeDiscovery(w, r, &metav1.APIVersions{
				TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
				ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
			})
		}
	case path == "apis":
		if !s.serveAggregated(w, r, false) {
			writeDiscovery(w, r, &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
				Groups: s.groups()})
		}
	case len(parts) == 2 && parts[0] == "api":
		s.serveResources(w, r, schema.GroupVersion{Version: parts[1]})
	case len(parts) == 2 && parts[0] == "apis":
		s.serveGroup(w, r, parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		s.serveResources(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, contentType string, document any) {
	w.Header().Set("Content-Type", contentType)
	data, err := json.Marshal(document)
	must.Do(err)
	_, _ = w.Write(append(data, '\n'))
}

// versionInfo is the version that the real server in kctrl env reports, without the source revision.
var versionInfo = version.Info{
	Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "37", MinCompatibilityMajor: "1",
	MinCompatibilityMinor: "36", GitVersion: "v1.37.2",
	BuildDate: "1970-01-01T00:00:00Z", GoVersion: goruntime.Version(), Compiler: goruntime.Compiler,
	Platform: goruntime.GOOS + "/" + goruntime.GOARCH,
}

// routed checks the method and the media type of a request for a document of a built-in group. If one is not supported,
// it answers like the real server's router, which does so before it calls a handler. routed reports whether the request
// must still be handled. The real server has no router for the documents of all groups, of one group, and of custom
// resources.
func routed(w http.ResponseWriter, r *http.Request, produced ...string) bool {
	info, _ := request.RequestInfoFrom(r.Context())
	if r.Method != http.MethodGet {
		routeError(w, r, info, http.StatusMethodNotAllowed, "405: Method Not Allowed")
		return false
	}
	return acceptable(w, r, info, produced)
}

// acceptable reports whether the client accepts one of the media types. Otherwise it answers with an error.
func acceptable(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, produced []string) bool {
	accept := r.Header.Get("Accept")
	if accept == "" || names(accept, append(slices.Clone(produced), "*/*")) {
		return true
	}
	routeError(w, r, info, http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+
		strings.Join(produced, ", "))
	return false
}

// writeDiscovery writes a document in the requested media type, with the document's own kind.
func writeDiscovery(w http.ResponseWriter, r *http.Request, document runtime.Object) {
	responsewriters.WriteObjectNegotiated(verbatimSerializer{metaCodecs}, negotiation.DefaultEndpointRestrictions,
		schema.GroupVersion{}, w, r, http.StatusOK, document, false)
}

// verbatimSerializer writes objects unchanged, because APIVersions and the resources of the core group have no version.
type verbatimSerializer struct{ runtime.NegotiatedSerializer }

func (verbatimSerializer) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return encoder
}

// serveAggregated answers a request for the aggregated document, and reports whether the request was for that document.
// If the client has the current document, the response has no body.
func (s *Server) serveAggregated(w http.ResponseWriter, r *http.Request, core bool) bool {
	media, acceptable := negotiation.NegotiateMediaTypeOptions(r.Header.Get("Accept"), metaCodecs.SupportedMediaTypes(),
		aggregatedRestrictions{})
	if !acceptable || !aggregates(media.Convert) {
		return false
	}
	document := s.aggregated(core)
	data, err := json.Marshal(document)
	must.Do(err)
	tag := fmt.Sprintf("\"%X\"", sha512.Sum512(data))
	w.Header().Set("Etag", tag)
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Cache-Control", "public")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	responsewriters.WriteObjectNegotiated(verbatimSerializer{metaCodecs}, aggregatedRestrictions{},
		apidiscoveryv2.SchemeGroupVersion, w, r, http.StatusOK, document, true)
	return true
}

func aggregates(kind *schema.GroupVersionKind) bool {
	return kind != nil && *kind == apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")
}

// aggregatedRestrictions allow media types that request the kind of the aggregated document.
type aggregatedRestrictions struct{}

func (aggregatedRestrictions) AllowsMediaTypeTransform(_, _ string, kind *schema.GroupVersionKind) bool {
	return aggregates(kind)
}
func (aggregatedRestrictions) AllowsServerVersion(string) bool       { return false }
func (aggregatedRestrictions) AllowsStreamSchema(stream string) bool { return stream == "watch" }

// groupOrder is the order of the built-in groups in discovery. The order matters, because a client that looks up the
// name of a resource uses the first group that has it. The groups of definitions follow, sorted by name.
var groupOrder = []string{
	"apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
	"certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io",
	"storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io",
	"node.k8s.io", "discovery.k8s.io",
}

func groupRank(name string) int {
	if i := slices.Index(groupOrder, name); i >= 0 {
		return i
	}
	return len(groupOrder)
}

// groups returns all groups except the core group. The versions of each group begin with the preferred one.
func (s *Server) groups() []metav1.APIGroup {
	groups := []metav1.APIGroup{}
	for _, one := range s.resources() {
		if one.gv.Group == "" {
			continue
		}
		at := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == one.gv.Group })
		if at < 0 {
			at = len(groups)
			groups = append(groups, metav1.APIGroup{Name: one.gv.Group})
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: one.gv.String(), Version: one.gv.Version}
		if !slices.Contains(groups[at].Versions, v) {
			groups[at].Versions = append(groups[at].Versions, v)
		}
	}
	slices.SortFunc(groups, func(a, b metav1.APIGroup) int {
		return cmp.Or(cmp.Compare(groupRank(a.Name), groupRank(b.Name)), strings.Compare(a.Name, b.Name))
	})
	for i := range groups {
		slices.SortFunc(groups[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
		groups[i].PreferredVersion = groups[i].Versions[0]
	}
	return groups
}

func (s *Server) serveGroup(w http.ResponseWriter, r *http.Request, name string) {
	for _, group := range s.groups() {
		if group.Name == name {
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			writeDiscovery(w, r, &group)
			return
		}
	}
	http.NotFound(w, r)
}

func (s *Server) serveResources(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion) {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String()}
	for _, one := range s.resources() {
		if one.gv == gv {
			list.APIResources = append(list.APIResources, one.APIResource)
		}
	}
	if list.APIResources == nil {
		s.notFound(w, r, gv.Group)
		return
	}
	if gv.Group == "" {
		list.APIVersion = ""
	}
	if s.builtinVersion(gv) {
		if !routed(w, r, produced...) {
			return
		}
		slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	}
	writeDiscovery(w, r, list)
}

// builtinVersion reports whether a version of a group has built-in kinds.
func (s *Server) builtinVersion(gv schema.GroupVersion) bool {
	for resource := range s.builtin {
		if resource.GroupVersion() == gv {
			return true
		}
	}
	return gv == definitionKind.GVK.GroupVersion()
}

// aggregated returns the aggregated discovery document.
func (s *Server) aggregated(core bool) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList",
		APIVersion: "apidiscovery.k8s.io/v2"}, Items: []apidiscoveryv2.APIGroupDiscovery{}}
	groups := s.groups()
	if core {
		groups = []metav1.APIGroup{{Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}}}}
	}
	known := s.resources()
	for _, group := range groups {
		item := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: group.Name}}
		for _, v := range group.Versions {
			one := apidiscoveryv2.APIVersionDiscovery{Version: v.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, resource := range known {
				if resource.gv.Group == group.Name && resource.gv.Version == v.Version {
					addResource(&one, resource)
				}
			}
			slices.SortFunc(one.Resources, func(a, b apidiscoveryv2.APIResourceDiscovery) int {
				return strings.Compare(a.Resource, b.Resource)
			})
			item.Versions = append(item.Versions, one)
		}
		list.Items = append(list.Items, item)
	}
	return list
}

// addResource adds a resource to a version, or a subresource to the last resource.
func addResource(v *apidiscoveryv2.APIVersionDiscovery, one resourceInfo) {
	kind := metav1.GroupVersionKind(one.kind)
	if _, name, ok := strings.Cut(one.Name, "/"); ok {
		parent := &v.Resources[len(v.Resources)-1]
		parent.Subresources = append(parent.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: name,
			ResponseKind: &kind, Verbs: one.Verbs})
		return
	}
	scope := apidiscoveryv2.ScopeCluster
	if one.Namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	v.Resources = append(v.Resources, apidiscoveryv2.APIResourceDiscovery{
		Resource: one.Name, SingularResource: one.SingularName, Scope: scope, ResponseKind: &kind, Verbs: one.Verbs,
		ShortNames: one.ShortNames, Categories: one.Categories,
	})
}
