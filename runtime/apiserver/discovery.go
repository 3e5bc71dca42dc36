package apiserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kctrl-dev/kctrl/runtime/apiserver/internal/must"
)

// resourceInfo is what discovery says of a resource, or of a subresource: then its name has a slash.
type resourceInfo struct {
	gv         schema.GroupVersion
	name       string
	singular   string
	kind       schema.GroupVersionKind
	namespaced bool
	verbs      []string
	short      []string
	categories []string
	hash       string
}

var (
	allVerbs    = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	customVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	proxyVerbs  = []string{"create", "delete", "get", "patch", "update"}
	partVerbs   = []string{"get", "patch", "update"}
)

// resources is what is served, in the order of the groups.
func (s *Server) resources() (found []resourceInfo) {
	for _, kinds := range kindGroups() {
		for i := range kinds {
			found = append(found, resourcesOf(&kinds[i])...)
		}
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
	one := resourceInfo{
		gv: k.GVK.GroupVersion(), name: k.Resource, singular: k.SingularName(), kind: k.GVK, namespaced: k.Namespaced, verbs: verbs,
		short: k.Short, categories: k.Categories, hash: storageHash(stored.GVK),
	}
	found := []resourceInfo{one}
	for _, extra := range k.parts {
		found = append(found, resourceInfo{gv: one.gv, name: one.name + "/" + extra.name, kind: extra.kind, namespaced: one.namespaced, verbs: extra.verbs})
	}
	if stored.Scale != nil {
		found = append(found, resourceInfo{gv: one.gv, name: one.name + "/scale", kind: scaleKind, namespaced: one.namespaced, verbs: partVerbs})
	}
	if stored.Status != nil {
		found = append(found, resourceInfo{gv: one.gv, name: one.name + "/status", kind: one.kind, namespaced: one.namespaced, verbs: partVerbs})
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
		one := resourceInfo{
			gv: gv, name: names.Plural, singular: names.Singular, kind: gv.WithKind(names.Kind), namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			verbs: verbs, short: names.ShortNames, categories: names.Categories, hash: hash,
		}
		found = append(found, one)
		if v.Subresources != nil && v.Subresources.Status != nil {
			found = append(found, resourceInfo{gv: gv, name: names.Plural + "/status", kind: one.kind, namespaced: one.namespaced, verbs: partVerbs})
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			found = append(found, resourceInfo{gv: gv, name: names.Plural + "/scale", kind: scaleKind, namespaced: one.namespaced, verbs: partVerbs})
		}
	}
	return found
}

func storageHash(kind schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(kind.Group + "/" + kind.Version + "/" + kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// serveDiscovery serves what is not about objects.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "healthz" || path == "livez" || path == "readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
	case path == "version":
		writeJSON(w, "application/json", map[string]string{"major": "1", "minor": "37", "gitVersion": "v1.37.0"})
	case (path == "api" || path == "apis") && wantsAggregated(r):
		w.Header().Set("Vary", "Accept")
		writeJSON(w, aggregatedType, s.aggregated(path == "api"))
	case path == "openapi/v2" || path == "openapi/v3" || strings.HasPrefix(path, "openapi/v3/"):
		s.serveOpenAPI(w, r, path)
	case path == "api":
		writeJSON(w, "application/json", &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		})
	case path == "apis":
		writeJSON(w, "application/json", &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: s.groups()})
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

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func wantsAggregated(r *http.Request) bool {
	for accepted := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		accepted = strings.ReplaceAll(accepted, " ", "")
		if strings.HasPrefix(accepted, "application/json;") && strings.Contains(accepted, "g=apidiscovery.k8s.io") && strings.Contains(accepted, "v=v2;") && strings.Contains(accepted, "as=APIGroupDiscoveryList") {
			return true
		}
	}
	return false
}

// groups are the groups but the core one, each with its versions, the preferred one first.
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
			writeJSON(w, "application/json", &group)
			return
		}
	}
	http.NotFound(w, r)
}

func (s *Server) serveResources(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion) {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, one := range s.resources() {
		if one.gv != gv {
			continue
		}
		resource := metav1.APIResource{
			Name: one.name, SingularName: one.singular, Namespaced: one.namespaced, Kind: one.kind.Kind, Verbs: one.verbs,
			ShortNames: one.short, Categories: one.categories, StorageVersionHash: one.hash,
		}
		if one.kind.GroupVersion() != gv {
			resource.Group, resource.Version = one.kind.Group, one.kind.Version
		}
		list.APIResources = append(list.APIResources, resource)
	}
	if list.APIResources == nil {
		s.notFound(w, r, gv.Group)
		return
	}
	if gv.Group == "" {
		list.APIVersion = ""
	}
	writeJSON(w, "application/json", list)
}

// aggregated is all that discovery says, in one document.
func (s *Server) aggregated(core bool) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, Items: []apidiscoveryv2.APIGroupDiscovery{}}
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
				if resource.gv == (schema.GroupVersion{Group: group.Name, Version: v.Version}) {
					addResource(&one, resource)
				}
			}
			slices.SortFunc(one.Resources, func(a, b apidiscoveryv2.APIResourceDiscovery) int { return strings.Compare(a.Resource, b.Resource) })
			item.Versions = append(item.Versions, one)
		}
		list.Items = append(list.Items, item)
	}
	return list
}

// addResource adds a resource to a version, or a subresource to the resource that is its last.
func addResource(v *apidiscoveryv2.APIVersionDiscovery, one resourceInfo) {
	kind := &metav1.GroupVersionKind{Group: one.kind.Group, Version: one.kind.Version, Kind: one.kind.Kind}
	if _, name, ok := strings.Cut(one.name, "/"); ok {
		parent := &v.Resources[len(v.Resources)-1]
		parent.Subresources = append(parent.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: name, ResponseKind: kind, Verbs: one.verbs})
		return
	}
	scope := apidiscoveryv2.ScopeCluster
	if one.namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	v.Resources = append(v.Resources, apidiscoveryv2.APIResourceDiscovery{
		Resource: one.name, SingularResource: one.singular, Scope: scope, ResponseKind: kind, Verbs: one.verbs, ShortNames: one.short, Categories: one.categories,
	})
}
