package simulator

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// state has the objects at the end of a run, by resource, namespace and name. In names, a star replaces parts that
// differ between runs. Objects that the controllers of the cluster have created are omitted, because they follow from
// other objects, and their number depends on when the controllers ran. Objects with the same generateName share one
// entry.
type state map[string][]map[string]any

// state lists the objects of the kinds that the run has written.
func (r *run) state() (state, error) {
	kinds, clusters, listed := map[string]resource{}, map[string]bool{}, map[string]bool{}
	r.mu.Lock()
	for _, c := range r.calls {
		if c.Process == clusterName && c.verb == "create" && c.object != nil {
			clusters[uidOf(c.object)] = true
		}
		at := c.resource
		at.namespace, at.object, at.subresource = "", "", ""
		kinds[at.path()] = at
	}
	for path := range r.given {
		at, ok := parsePath(path)
		if at.namespace, at.object = "", ""; ok && (at.group == "" || at.group == "apps") {
			kinds[at.path()], listed[at.path()] = at, true
		}
	}
	given := map[string]bool{}
	for _, object := range r.given {
		given[uidOf(object)] = true
	}
	r.mu.Unlock()
	all := state{}
	for _, path := range slices.Sorted(maps.Keys(kinds)) {
		answer, err := r.exchange(http.MethodGet, path, nil)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var list struct {
			Items []map[string]any `json:"items"`
		}
		if err := json.Unmarshal(answer, &list); err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			u := &unstructured.Unstructured{Object: item}
			uid := string(u.GetUID())
			isSystems := kinds[path].kind() == "namespaces" && systemNamespaces[u.GetName()] // the server creates them later
			if isSystems || clusters[uid] || given[uid] && !listed[path] {                   // not all runs list the latter
				continue
			}
			name := u.GetName()
			if prefix := u.GetGenerateName(); prefix != "" && strings.HasPrefix(name, prefix) {
				name = prefix + "*"
			}
			name = uuids.ReplaceAllString(name, "*")
			key := kinds[path].kind() + " " + strings.TrimPrefix(u.GetNamespace()+"/"+name, "/")
			all[key] = append(all[key], item)
		}
	}
	return all, nil
}

func uidOf(object map[string]any) string {
	return string((&unstructured.Unstructured{Object: object}).GetUID())
}

// uuids matches parts of names that differ between runs, such as the names of volumes.
var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// readAnswer returns the body of a successful response, or the status as an error.
func readAnswer(response *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		var status struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(body, &status) // the message stays empty
		return nil, &statusError{response.StatusCode, status.Message}
	}
	return body, nil
}

// collectionOf returns the path of the collection that contains an object.
func collectionOf(o *Operator, u *unstructured.Unstructured) string {
	gvk := u.GroupVersionKind()
	r := resource{group: gvk.Group, version: gvk.Version}
	for _, definition := range o.Objects {
		if definition.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		if group != gvk.Group || kind != gvk.Kind {
			continue
		}
		r.name, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "plural")
		if scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope"); scope == "Namespaced" {
			r.namespace = o.namespaceOf(u)
		}
		return r.path()
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	r.name = plural.Resource
	if !clusterScoped[schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}] {
		r.namespace = o.namespaceOf(u)
	}
	return r.path()
}

func (o *Operator) namespaceOf(u *unstructured.Unstructured) string {
	return cmp.Or(u.GetNamespace(), o.SampleNamespace, "default")
}

// clusterScoped has the built-in kinds without a namespace that projects contain.
var clusterScoped = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true, {Kind: "Node"}: true, {Kind: "PersistentVolume"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:                 true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
}

// difference is the first difference of two states.
type difference struct {
	object string // key of the state
	field  string // path; empty if the numbers of objects differ
	want   any
	got    any
}

func (d *difference) String() string {
	if d.field == "" {
		return fmt.Sprintf("%s: %v objects, the reference has %v", d.object, d.got, d.want)
	}
	return fmt.Sprintf("%s: %s is %s, in the reference %s", d.object, d.field, inJSON(d.got), inJSON(d.want))
}

func inJSON(v any) string {
	if v == nil {
		return "unset"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// compare returns the first difference outside the masked kinds and fields, or nil.
func compare(want, got state, masks map[string]bool) *difference {
	for _, key := range keysOf(want, got) {
		kind, _, _ := strings.Cut(key, " ")
		if masks[kind] {
			continue
		}
		if len(want[key]) != len(got[key]) {
			return &difference{object: key, want: len(want[key]), got: len(got[key])}
		}
		for i := range want[key] {
			if d := diff(kind, "", want[key][i], got[key][i], masks); d != nil {
				d.object = key
				return d
			}
		}
	}
	return nil
}

// differences yields the differences outside the masked kinds and fields. It masks the field of each difference.
func differences(want, got state, masks map[string]bool) iter.Seq[*difference] {
	return func(yield func(*difference) bool) {
		want, got := maps.Clone(want), maps.Clone(got)
		for d := compare(want, got, masks); d != nil && yield(d); d = compare(want, got, masks) {
			if d.field == "" {
				delete(want, d.object)
				delete(got, d.object)
				continue
			}
			kind, _, _ := strings.Cut(d.object, " ")
			masks[kind+d.field] = true
		}
	}
}

// keysOf returns the sorted keys of two maps.
func keysOf[V any](a, b map[string]V) []string {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// unequal has the fields whose values depend on the server, the time or the number of earlier allocations.
var unequal = map[string]bool{
	".status.podIP": true, ".status.podIPs[].ip": true, ".endpoints[].addresses[]": true,
	".spec.clusterIP": true, ".spec.clusterIPs[]": true, ".spec.ports[].nodePort": true,
	".metadata.uid": true, ".metadata.resourceVersion": true, ".metadata.creationTimestamp": true,
	".metadata.managedFields": true, ".metadata.generation": true, ".metadata.ownerReferences[].uid": true,
	".status.collisionCount": true, ".metadata.annotations.deployment.kubernetes.io/revision": true,
	".metadata.deletionTimestamp": true, ".status.observedGeneration": true,
	".status.conditions[].observedGeneration": true,
	".spec.claimRef.uid":                      true, ".spec.claimRef.resourceVersion": true, ".spec.volumeName": true,
}

// diff returns the first difference of two values, or nil. Elements of a list have the path of the list with brackets.
func diff(kind, path string, want, got any, masks map[string]bool) *difference {
	if want == nil && isEmpty(got) || isEmpty(want) && got == nil { // a client with Go types may write either
		return nil
	}
	if unequal[path] || masks[kind+path] || isTime(want) && isTime(got) || path == ".status" && isClusters(kind) {
		return nil
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range keysOf(w, g) {
			if d := diff(kind, path+"."+key, w[key], g[key], masks); d != nil {
				return d
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if d := diff(kind, path+"[]", w[i], g[i], masks); d != nil {
				return d
			}
		}
		return nil
	}
	if reflect.DeepEqual(want, got) || isSameQuantity(want, got) {
		return nil
	}
	return &difference{field: path, want: want, got: got}
}

// isSameQuantity reports whether two values are equal quantities of resources, such as "2000m", "2" and 2. Clients with
// Go types write each quantity in its shortest form. Strings without a unit, such as "1" and "1.0", may be something
// else than quantities.
func isSameQuantity(a, b any) bool {
	var quantities []quantity.Quantity
	known := false
	for _, v := range []any{a, b} {
		text, isText := v.(string)
		if _, isNumber := v.(int64); !isText && !isNumber {
			return false
		}
		q, err := quantity.ParseQuantity(fmt.Sprint(v))
		if err != nil {
			return false
		}
		quantities = append(quantities, q)
		known = known || !isText || strings.ContainsFunc(text, unicode.IsLetter)
	}
	return known && quantities[0].Cmp(quantities[1]) == 0
}

// isEmpty reports whether a value is an object without fields.
func isEmpty(v any) bool {
	fields, ok := v.(map[string]any)
	return ok && len(fields) == 0
}

// isClusters reports whether the controllers of the cluster write the status of a kind. Such a status depends on when
// they ran.
func isClusters(kind string) bool {
	group, _, grouped := strings.Cut(kind, "/")
	return !grouped && kind != "" || group == "apps" || group == "batch" || group == "policy" || group == "autoscaling"
}

func isTime(v any) bool {
	text, ok := v.(string)
	if !ok || len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}
