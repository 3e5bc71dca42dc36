package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// live is a client of a real API server, and a namespace on it that no other test uses.
type live struct {
	*client.REST
	config    *rest.Config
	namespace string
}

// TestOnAServer starts one API server for all tests that need one.
func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t)
	c, err := client.New(env.Config, client.Options{Scheme: newScheme(t), FieldOwner: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rule string
		run  func(t *testing.T, c live)
	}{
		{"an object is created, read, updated and deleted", testLifeOfAnObject},
		{"selectors, limits and pages choose what is listed", testListing},
		{"an update of an old version is a conflict", testUpdateConflict},
		{"each kind of patch changes the object", testPatches},
		{"a patch does not change a recreated object", testPatchOfAnotherObject},
		{"apply owns fields, and a field of another owner is a conflict", testApply},
		{"the status is written apart", testStatus},
		{"the status of a masked object is written, and nothing else of it", testStatusOfAMaskedObject},
		{"the namespace of a cluster-scoped object is dropped in every verb", testNamespaceOfClusterScoped},
		{"all that the server lists is listed and watched, in each form and format", testEveryResource},
		{"scale and eviction are subresources", testSubresources},
		{"a delete has preconditions", testPreconditions},
		{"delete all deletes what is selected", testDeleteAllOf},
		{"strict validation and dry run", testValidationAndDryRun},
		{"what a user may not do is forbidden", testForbidden},
		{"the journal records each write like a watch", testJournal},
		{"the journal records deletions", testJournalOfDeletions},
		{"the journal records whether a deleted object is gone", testJournalOfDeletedKinds},
		{"a journal can be shared", testJournalIsShared},
		{"a watch goes on from a list", testWatch},
		{"a client watches each form of a kind", testWatchOfAClient},
		{"typed apply configurations are applied", testApplyConfigurations},
		{"a strategic patch leaves other items alone", testStrategicPatch},
		{"the scope of a kind is known", testScopeOfKinds},
		{"a streaming list ends with a bookmark", testStreamingList},
		{"a list is read page by page", testPages},
		{"a kind whose CRD comes later is found, and forgotten with it", testCustomResource},
	} {
		t.Run(test.rule, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "client-"}}
			if err := c.Create(t.Context(), namespace); err != nil || namespace.Name == "" {
				t.Fatalf("got %q, %v", namespace.Name, err)
			}
			test.run(t, live{c, env.Config, namespace.Name})
		})
	}
}

// ok fails the test if err is not nil.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create creates ConfigMaps with a label that contains their name.
func (c live) create(t *testing.T, names ...string) []*corev1.ConfigMap {
	t.Helper()
	var created []*corev1.ConfigMap
	for _, name := range names {
		cm := c.configMap(name)
		cm.Labels = map[string]string{"name": name}
		ok(t, c.Create(t.Context(), cm))
		created = append(created, cm)
	}
	return created
}

func (c live) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
}

func (c live) key(name string) object.Key { return object.Key{Namespace: c.namespace, Name: name} }

func testLifeOfAnObject(t *testing.T, c live) {
	ctx, cm := t.Context(), c.create(t, "a")[0]
	if cm.UID == "" || cm.ResourceVersion == "" || cm.Kind != "ConfigMap" || cm.APIVersion != "v1" {
		t.Errorf("got %v", cm)
	}
	if err := c.Create(ctx, c.configMap("a")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v", err)
	}
	cm.Data = map[string]string{"x": "y"}
	ok(t, c.Update(ctx, cm))
	read, plain, meta := c.configMap(""), untyped("v1", "ConfigMap", "", ""), metadataOf("")
	for _, obj := range []object.Object{read, plain, meta} {
		ok(t, c.Get(ctx, c.key("a"), obj, client.NotOlderThan(cm.ResourceVersion)))
		if obj.GetUID() != cm.UID || obj.GetResourceVersion() != cm.ResourceVersion {
			t.Errorf("%T: got %v, want %v", obj, obj, cm)
		}
	}
	if read.Data["x"] != "y" || meta.Kind != "ConfigMap" || len(meta.ManagedFields) == 0 ||
		meta.ManagedFields[0].Manager != "tester" {
		t.Errorf("got %v and %v", read, meta)
	}
	ok(t, c.Delete(ctx, plain))
	if err := c.Get(ctx, c.key("a"), read); !apierrors.IsNotFound(err) ||
		!strings.Contains(err.Error(), `configmaps "a" not found`) {
		t.Errorf("got %v", err)
	}
	if err := c.Delete(ctx, read); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func testListing(t *testing.T, c live) {
	c.create(t, "a", "b", "c")
	in := client.InNamespace(c.namespace)
	for want, opts := range map[string][]client.ListOption{
		"abc": {in},
		"b":   {in, client.MatchingLabels{"name": "b"}},
		"":    {in, client.HasLabels{"other"}},
		"c":   {in, client.MatchingFields{"metadata.name": "c"}},
		"ab":  {in, client.Limit(2)},
		"a":   {client.MatchingFields{"metadata.namespace": c.namespace, "metadata.name": "a"}},
	} {
		list := &corev1.ConfigMapList{}
		ok(t, c.List(t.Context(), list, opts...))
		got := ""
		for _, item := range list.Items {
			got += item.Name
		}
		if got != want || list.ResourceVersion == "" || (list.Continue != "") != (want == "ab") {
			t.Errorf("got %s, want %s", got, want)
		}
		if want != "ab" {
			continue
		}
		ok(t, c.List(t.Context(), list, append(opts, client.Continue(list.Continue))...))
		if len(list.Items) != 1 || list.Items[0].Name != "c" || list.Continue != "" {
			t.Errorf("the second page is %v", list)
		}
	}
	err := c.List(t.Context(), &corev1.ConfigMapList{}, in, client.MatchingFields{"data.x": "y"})
	if !apierrors.IsBadRequest(err) {
		t.Errorf("got %v", err)
	}
}

func testUpdateConflict(t *testing.T, c live) {
	cm := c.create(t, "a")[0]
	stale := cm.DeepCopy()
	cm.Data = map[string]string{"x": "1"}
	ok(t, c.Update(t.Context(), cm))
	stale.Data = map[string]string{"x": "2"}
	if err := c.Update(t.Context(), stale); !apierrors.IsConflict(err) || stale.Data["x"] != "2" {
		t.Errorf("got %v", err)
	}
	if err := c.Update(t.Context(), c.configMap("missing")); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func testPatches(t *testing.T, c live) {
	ctx, cm := t.Context(), c.create(t, "a")[0]
	base := cm.DeepCopy()
	cm.Data = map[string]string{"merge": "1"}
	ok(t, c.Patch(ctx, cm, client.MergeFrom(base)))
	stale := cm.DeepCopy()
	stale.Data["lost"] = "1"
	if err := c.Patch(ctx, stale, client.MergeFromWithOptimisticLock(base)); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	ok(t, c.Patch(ctx, cm, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/data/json","value":"1"}]`))))
	ok(t, c.Patch(ctx, cm, client.RawPatch(types.StrategicMergePatchType, []byte(`{"data":{"strategic":"1"}}`))))
	meta := metadataOf("a")
	meta.Namespace = c.namespace
	ok(t, c.Patch(ctx, meta, client.RawPatch(types.MergePatchType, []byte(`{"data":{"metadata":"1"}}`))))
	ok(t, c.Patch(ctx, cm, client.RawPatch(types.ApplyYAMLPatchType,
		[]byte("apiVersion: v1\nkind: ConfigMap\ndata: {apply: '1'}")), client.ForceOwnership))
	if got := toJSON(cm.Data); got != `{"apply":"1","json":"1","merge":"1","metadata":"1","strategic":"1"}` {
		t.Errorf("got %s", got)
	}
}

// testPatchOfAnotherObject patches an object that was deleted and recreated after it was read.
func testPatchOfAnotherObject(t *testing.T, c live) {
	ctx, read := t.Context(), c.web()
	ok(t, c.Create(ctx, read))
	deleted := read.DeepCopy()
	ok(t, c.Delete(ctx, deleted))
	made := c.web()
	ok(t, c.Create(ctx, made))
	changed := read.DeepCopy()
	changed.Labels, changed.Status.ObservedGeneration = map[string]string{"late": "yes"}, 7
	scaled, scale := c.SubResource("scale"), &autoscalingv1.Scale{}
	ok(t, scaled.Get(ctx, made, scale))
	scale.UID = read.UID
	more := scale.DeepCopy()
	more.Spec.Replicas++
	for name, err := range map[string]error{
		"merge":     c.Patch(ctx, changed.DeepCopy(), client.MergeFrom(read)),
		"strategic": c.Patch(ctx, changed.DeepCopy(), client.StrategicMergeFrom(read)),
		"status":    c.Status().Patch(ctx, changed.DeepCopy(), client.MergeFrom(read)),
		"scale":     scaled.Patch(ctx, made.DeepCopy(), client.MergeFrom(scale), client.WithSubResourceBody(more)),
	} {
		if !apierrors.IsConflict(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	got := c.web()
	ok(t, c.Get(ctx, object.KeyOf(made), got))
	if got.ResourceVersion != made.ResourceVersion {
		t.Errorf("changed to %v", got)
	}
}

func testApply(t *testing.T, c live) {
	ctx := t.Context()
	applied := func(value string) *corev1.ConfigMap {
		cm := c.configMap("a")
		cm.Data = map[string]string{"x": value}
		return cm
	}
	ok(t, c.Apply(ctx, applied("1"), client.FieldOwner("first")))
	again := applied("1")
	ok(t, c.Apply(ctx, again, client.FieldOwner("first")))
	version := again.ResourceVersion
	ok(t, c.Apply(ctx, again, client.FieldOwner("first")))
	if again.ResourceVersion != version {
		t.Error("an apply of what was read is a change")
	}
	err := c.Apply(ctx, applied("2"), client.FieldOwner("second"))
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("got %v", err)
	}
	forced := applied("2")
	ok(t, c.Apply(ctx, forced, client.FieldOwner("second"), client.ForceOwnership))
	if forced.Data["x"] != "2" {
		t.Errorf("got %v", forced)
	}
	ok(t, c.Apply(ctx, c.configMap("a"), client.FieldOwner("second")))
	ok(t, c.Get(ctx, c.key("a"), forced))
	if len(forced.Data) != 0 {
		t.Errorf("a field that is no longer applied is still there: %v", forced.Data)
	}
}

// web returns a Deployment that the server accepts.
func (c live) web() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}}
}

func testStatus(t *testing.T, c live) {
	ctx, d := t.Context(), c.web()
	d.Status.Replicas = 5
	ok(t, c.Apply(ctx, d))
	if d.Status.Replicas != 0 || *d.Spec.Replicas != 0 {
		t.Errorf("got %v", d)
	}
	d.Status.Replicas, *d.Spec.Replicas = 1, 9
	ok(t, c.Status().Update(ctx, d))
	if d.Status.Replicas != 1 || *d.Spec.Replicas != 0 {
		t.Errorf("got %v", d)
	}
	base := d.DeepCopy()
	d.Status.Replicas = 2
	ok(t, c.Status().Patch(ctx, d, client.MergeFrom(base)))
	d.Status.Replicas, *d.Spec.Replicas = 3, 9
	ok(t, c.Status().Apply(ctx, d, client.ForceOwnership))
	if d.Status.Replicas != 3 || *d.Spec.Replicas != 0 {
		t.Errorf("got %v", d)
	}
}

func testStatusOfAMaskedObject(t *testing.T, c live) {
	ctx, d := t.Context(), c.web()
	ok(t, c.Create(ctx, d))
	lw, err := client.NewListWatcher(c.REST, &appsv1.Deployment{},
		client.Scope{Namespace: c.namespace, Mask: []string{"metadata", "status"}})
	ok(t, err)
	masked := func() *appsv1.Deployment {
		page, err := lw.List(ctx, metav1.ListOptions{})
		ok(t, err)
		if len(page.Items) != 1 || object.Mask(page.Items[0]) == nil || page.Items[0].Spec.Selector != nil {
			t.Fatalf("got %v", page.Items)
		}
		return page.Items[0]
	}
	updated := masked()
	updated.Status.Replicas = 1
	ok(t, c.Status().Update(ctx, updated))
	applied := masked()
	applied.Status.ReadyReplicas = 1
	ok(t, c.Status().Apply(ctx, applied, client.ForceOwnership))
	base := masked()
	patched := base.DeepCopy()
	patched.Labels = map[string]string{"patched": "yes"}
	ok(t, c.Patch(ctx, patched, client.MergeFromWithOptimisticLock(base)))
	ok(t, c.Get(ctx, c.key("web"), d))
	if object.Mask(d) != nil || d.Status.ReadyReplicas != 1 || d.Status.Replicas != 1 || d.Labels["patched"] != "yes" ||
		d.Spec.Selector.MatchLabels["app"] != "web" {
		t.Errorf("got %+v", d)
	}
	if _, isMasked := errors.AsType[*client.MaskedError](c.Update(ctx, masked())); !isMasked {
		t.Error("a masked object was written as a whole")
	}
}

// testNamespaceOfClusterScoped sets a namespace in requests for namespaces and cluster roles, which controller-runtime
// allows programs to do.
func testNamespaceOfClusterScoped(t *testing.T, c live) {
	ctx, key := t.Context(), object.Key{Namespace: "elsewhere", Name: c.namespace + "-x"}
	in := client.InNamespace(key.Namespace)
	typed := func() object.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	}
	plain := func() object.Object {
		return untyped("rbac.authorization.k8s.io/v1", "ClusterRole", key.Namespace, key.Name)
	}
	for _, empty := range []func() object.Object{typed, plain} {
		obj := empty()
		ok(t, c.Create(ctx, obj))
		if obj.GetNamespace() != "" || obj.GetUID() == "" {
			t.Errorf("created %v", obj)
		}
		ok(t, c.Get(ctx, key, obj))
		base := obj.DeepCopyObject().(object.Object)
		obj.SetNamespace(key.Namespace)
		base.SetNamespace(key.Namespace)
		obj.SetLabels(map[string]string{"patched": "yes"})
		ok(t, c.Patch(ctx, obj, client.MergeFrom(base)))
		obj.SetNamespace(key.Namespace)
		obj.SetLabels(map[string]string{"updated": "yes"})
		ok(t, c.Update(ctx, obj))
		applied := empty()
		applied.SetLabels(map[string]string{"applied": "yes"})
		ok(t, c.Apply(ctx, applied))
		if labels := applied.GetLabels(); labels["updated"] != "yes" || labels["applied"] != "yes" ||
			applied.GetNamespace() != "" {
			t.Errorf("got %v", applied)
		}
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(applied.GetObjectKind().GroupVersionKind())
		ok(t, c.Get(ctx, key, meta))
		gvk := meta.GroupVersionKind()
		gvk.Kind += "List"
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		ok(t, c.List(ctx, list, in, client.MatchingLabels{"applied": "yes"}))
		if len(list.Items) != 1 || list.Items[0].Name != key.Name {
			t.Errorf("listed %v", list.Items)
		}
		events, err := c.Watch(ctx, list, in, client.MatchingLabels{"applied": "yes"})
		ok(t, err)
		if gvk.Group == "" { // the server cannot delete a collection of namespaces
			ok(t, c.Delete(ctx, empty()))
		} else {
			ok(t, c.DeleteAllOf(ctx, empty(), in, client.MatchingLabels{"applied": "yes"}))
		}
		if got := next(t, events); !strings.HasSuffix(got, " "+key.Name) {
			t.Errorf("watched %s", got)
		}
		ok(t, events.Close())
	}
	namespace := typed().(*corev1.Namespace)
	namespace.Name += "-status"
	ok(t, c.Create(ctx, namespace))
	namespace.Namespace = key.Namespace
	namespace.Status.Conditions = []corev1.NamespaceCondition{{Type: "Tested", Status: corev1.ConditionTrue}}
	ok(t, c.Status().Update(ctx, namespace))
	namespace.Namespace = key.Namespace
	ok(t, c.Status().Apply(ctx, namespace, client.ForceOwnership))
	if len(namespace.Status.Conditions) != 1 || namespace.Namespace != "" {
		t.Errorf("got %v", namespace)
	}
}

// resources returns all listable resources in the server's discovery.
func (c live) resources(t *testing.T) (all []metav1.APIResource) {
	t.Helper()
	config := rest.CopyConfig(c.config)
	h, err := rest.HTTPClientFor(config)
	ok(t, err)
	read := func(path string, into any) {
		resp, err := h.Get(config.Host + path)
		ok(t, err)
		defer resp.Body.Close()
		ok(t, json.NewDecoder(resp.Body).Decode(into))
	}
	var groups metav1.APIGroupList
	read("/apis", &groups)
	paths := []string{"/api/v1"}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			paths = append(paths, "/apis/"+version.GroupVersion)
		}
	}
	for _, path := range paths {
		var list metav1.APIResourceList
		read(path, &list)
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") {
				gv, err := schema.ParseGroupVersion(list.GroupVersion)
				ok(t, err)
				r.Group, r.Version = gv.Group, gv.Version
				all = append(all, r)
			}
		}
	}
	return all
}

// testEveryResource lists and watches each resource of the server, untyped and as metadata, in each format that it
// supports.
func testEveryResource(t *testing.T, c live) {
	all := c.resources(t)
	if len(all) < 40 {
		t.Fatalf("the server has %d resources", len(all))
	}
	total := 0
	for _, r := range all {
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		plain, meta := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
		plain.SetGroupVersionKind(gvk)
		meta.SetGroupVersionKind(gvk)
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(r.Kind + "List"))
		if err := c.List(t.Context(), list); err != nil {
			t.Error(err)
		}
		total += len(list.Items)
		for _, item := range list.Items {
			if item.GroupVersionKind() != gvk {
				t.Errorf("an item of %s is %s", gvk, item.GroupVersionKind())
			}
		}
		prototypes := []object.Object{plain, meta}
		if typed, err := c.Scheme().New(gvk); err == nil {
			prototypes = append(prototypes, typed.(object.Object))
		}
		for _, prototype := range prototypes {
			for _, formats := range [][]client.Format{nil, {client.JSON}} {
				lw, err := client.NewListWatcher(c.REST, prototype, client.Scope{Formats: formats})
				ok(t, err)
				page, err := lw.List(t.Context(), metav1.ListOptions{})
				if err != nil || len(page.Items) != len(list.Items) {
					t.Errorf("%T %v: got %d of %d, %v", prototype, formats, len(page.Items), len(list.Items), err)
				}
				if !slices.Contains(r.Verbs, "watch") || len(list.Items) == 0 {
					continue
				}
				events, err := lw.Watch(t.Context(), metav1.ListOptions{})
				ok(t, err)
				for range list.Items {
					event, err := events.Next()
					if err != nil || event.Type != watch.Added || event.Object.GetObjectKind().GroupVersionKind() != gvk {
						t.Fatalf("watch %s as %T: got %v, %v", gvk, prototype, event, err)
					}
				}
				ok(t, events.Close())
			}
		}
	}
	if total < 30 { // the number of objects on a new server
		t.Errorf("the server has %d objects", total)
	}
}

func testSubresources(t *testing.T, c live) {
	ctx, d, scale := t.Context(), c.web(), &autoscalingv1.Scale{}
	ok(t, c.Create(ctx, d))
	scaled := c.SubResource("scale")
	ok(t, scaled.Get(ctx, d, scale))
	scale.Spec.Replicas = 2
	ok(t, scaled.Update(ctx, d, client.WithSubResourceBody(scale)))
	base := scale.DeepCopy()
	scale.Spec.Replicas = 3
	ok(t, scaled.Patch(ctx, d, client.MergeFromWithOptimisticLock(base), client.WithSubResourceBody(scale)))
	body := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	ok(t, scaled.Apply(ctx, d, client.WithSubResourceBody(body), client.ForceOwnership))
	ok(t, c.Get(ctx, c.key("web"), d))
	if *d.Spec.Replicas != 4 || body.Spec.Replicas != 4 {
		t.Errorf("got %d and %d replicas", *d.Spec.Replicas, body.Spec.Replicas)
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "p"}, Spec: podSpec()}
	ok(t, c.Create(ctx, pod))
	ok(t, c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p",
		Namespace: c.namespace}}))
	if err := c.Get(ctx, c.key("p"), pod); !apierrors.IsNotFound(err) {
		t.Errorf("the pod was not evicted: %v", err)
	}
	if err := c.SubResource("unknown").Update(ctx, d); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func testPreconditions(t *testing.T, c live) {
	cm := c.create(t, "a")[0]
	other, old := types.UID("another"), "1"
	for _, wrong := range []client.Preconditions{{UID: &other}, {ResourceVersion: &old}} {
		if err := c.Delete(t.Context(), cm, wrong); !apierrors.IsConflict(err) {
			t.Errorf("got %v", err)
		}
	}
	ok(t, c.Delete(t.Context(), cm, client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

func testDeleteAllOf(t *testing.T, c live) {
	c.create(t, "a", "b", "c")
	in := client.InNamespace(c.namespace)
	list := &corev1.ConfigMapList{}
	for _, step := range []struct {
		opts []client.DeleteAllOfOption
		left int
	}{
		{[]client.DeleteAllOfOption{in, client.DryRunAll}, 3},
		{[]client.DeleteAllOfOption{in, client.MatchingLabels{"name": "b"}}, 2},
		{[]client.DeleteAllOfOption{in, client.GracePeriodSeconds(0)}, 0},
	} {
		ok(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, step.opts...))
		ok(t, c.List(t.Context(), list, in))
		if len(list.Items) != step.left {
			t.Errorf("%v leaves %d", step.opts, len(list.Items))
		}
	}
}

func testValidationAndDryRun(t *testing.T, c live) {
	u := untyped("v1", "ConfigMap", c.namespace, "a")
	u.Object["unknown"] = "x"
	if err := c.Create(t.Context(), u, client.FieldValidation("Strict")); !apierrors.IsBadRequest(err) ||
		!strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v", err)
	}
	ok(t, c.Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Ignore")))
	if err := c.Get(t.Context(), c.key("a"), u); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run was stored: %v", err)
	}
}

func testForbidden(t *testing.T, c live) {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	nobody, err := client.New(config, client.Options{Scheme: newScheme(t)})
	ok(t, err)
	lw, err := client.NewListWatcher(nobody, &corev1.ConfigMap{}, client.Scope{Namespace: c.namespace})
	ok(t, err)
	_, watched := lw.Watch(t.Context(), metav1.ListOptions{})
	for verb, err := range map[string]error{
		"get":    nobody.Get(t.Context(), c.key("a"), c.configMap("")),
		"create": nobody.Create(t.Context(), c.configMap("a")),
		"watch":  watched,
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(),
			`User "nobody" cannot `+verb+` resource "configmaps"`) {
			t.Errorf("got %v", err)
		}
	}
}

// next returns the next event that is not a bookmark, as "ADDED a".
func next[T object.Object](t *testing.T, events client.Stream[T]) string {
	t.Helper()
	for {
		event, err := events.Next()
		ok(t, err)
		if event.Type != watch.Bookmark {
			return string(event.Type) + " " + event.Object.GetName()
		}
	}
}

func testWatch(t *testing.T, c live) {
	c.create(t, "a")
	lw, err := client.NewListWatcher(c.REST, &corev1.ConfigMap{},
		client.Scope{Namespace: c.namespace, Labels: labels.Set{"name": "b"}.AsSelector()})
	ok(t, err)
	page, err := lw.List(t.Context(), metav1.ListOptions{})
	ok(t, err)
	if len(page.Items) != 0 {
		t.Errorf("got %v", page.Items)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: page.ResourceVersion, AllowWatchBookmarks: true})
	ok(t, err)
	b := c.create(t, "b", "c")[0]
	b.Data = map[string]string{"x": "y"}
	ok(t, c.Update(ctx, b))
	ok(t, c.Delete(ctx, b))
	for _, want := range []string{"ADDED b", "MODIFIED b", "DELETED b"} {
		if got := next(t, events); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	cancel()
	if _, err := events.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	short, err := lw.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: new(int64(1))})
	ok(t, err)
	for err == nil {
		_, err = short.Next()
	}
	if err != io.EOF {
		t.Errorf("a watch that has timed out ends with %v", err)
	}
}

func testStreamingList(t *testing.T, c live) {
	c.create(t, "a", "b")
	lw, err := client.NewListWatcher[object.Object](c.REST, metadataOf(""), client.Scope{Namespace: c.namespace})
	ok(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := lw.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	ok(t, err)
	defer events.Close()
	seen := map[string]bool{}
	for {
		event, err := events.Next()
		ok(t, err)
		if event.InitialEventsEnd {
			if event.ResourceVersion == "" {
				t.Error("the bookmark has no version")
			}
			break
		}
		if event.Type != watch.Added || event.Object.GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
			t.Errorf("got %v", event)
			continue
		}
		seen[event.Object.GetName()] = true
	}
	if !seen["a"] || !seen["b"] || len(seen) != 2 {
		t.Errorf("got %v", seen)
	}
}

func testPages(t *testing.T, c live) {
	c.create(t, "a", "b", "c")
	typed, err := client.NewListWatcher(c.REST, &corev1.ConfigMap{}, client.Scope{Namespace: c.namespace})
	ok(t, err)
	plain, err := client.NewListWatcher(c.REST, untyped("v1", "ConfigMap", "", ""), client.Scope{Namespace: c.namespace})
	ok(t, err)
	partial, err := client.NewListWatcher(c.REST, metadataOf(""), client.Scope{Namespace: c.namespace})
	ok(t, err)
	pagesOf(t, typed)
	pagesOf(t, plain)
	pagesOf(t, partial)
}

// pagesOf lists a, b and c in two pages and checks the pages.
func pagesOf[T object.Object](t *testing.T, lw *client.ListWatcher[T]) {
	t.Helper()
	first, err := lw.List(t.Context(), metav1.ListOptions{Limit: 2})
	ok(t, err)
	second, err := lw.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: first.Continue})
	ok(t, err)
	got := strings.Join(append(names(first), names(second)...), "")
	if got != "abc" || len(second.Items) != 1 || second.Continue != "" || first.ResourceVersion == "" ||
		first.ResourceVersion != second.ResourceVersion {
		t.Errorf("got %s in %v and %v", got, first, second)
	}
}

// gadgetCRD is the CustomResourceDefinition of Gadget, with a status.
func gadgetCRD() *unstructured.Unstructured {
	crd := untyped("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.example.com")
	crd.Object["spec"] = map[string]any{
		"group": "example.com",
		"scope": "Namespaced",
		"names": map[string]any{"kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets", "singular": "gadget"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
				"x-kubernetes-preserve-unknown-fields": true}},
		}},
	}
	return crd
}

// eventually repeats try until it returns no error, for at most a minute.
func eventually(t *testing.T, try func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func testCustomResource(t *testing.T, c live) {
	u := untyped("example.com/v1", "Gadget", c.namespace, "g")
	if err := c.Create(t.Context(), u); !meta.IsNoMatchError(err) {
		t.Fatalf("got %v", err)
	}
	crd := gadgetCRD()
	ok(t, c.Create(t.Context(), crd))
	eventually(t, func(ctx context.Context) error { return c.Create(ctx, u) })
	mapping, err := c.RESTMapper().RESTMapping(gadgetKind)
	if err != nil || mapping.Resource != gadgets.WithResource("gadgets") {
		t.Errorf("got %v, %v", mapping, err)
	}
	u.Object["status"], u.Object["spec"] = map[string]any{"ready": true}, map[string]any{"lost": true}
	ok(t, c.Status().Update(t.Context(), u))
	if ready, _, _ := unstructured.NestedBool(u.Object, "status", "ready"); !ready || u.Object["spec"] != nil {
		t.Errorf("got %v", u)
	}
	read := u.DeepCopy()
	read.SetUID("another")
	changed := read.DeepCopy()
	changed.Object["spec"], changed.Object["status"] = map[string]any{"lost": true}, map[string]any{"late": true}
	if err := c.Patch(t.Context(), changed.DeepCopy(), client.MergeFrom(read)); !apierrors.IsConflict(err) {
		t.Errorf("a patch of another object: got %v", err)
	}
	// The documentation of MergeFrom states that a patch of the status does not check the UID.
	if err := c.Status().Patch(t.Context(), changed.DeepCopy(), client.MergeFrom(read)); err != nil {
		t.Errorf("the server looks at the UID in a patch of the status: %v", err)
	}
	if err := c.Status().Patch(t.Context(), changed.DeepCopy(),
		client.MergeFromWithOptimisticLock(read)); !apierrors.IsConflict(err) {
		t.Errorf("a patch of the status of another version: got %v", err)
	}
	list := listOf(untyped("example.com/v1", "GadgetList", "", ""))
	ok(t, c.List(t.Context(), list, client.InNamespace(c.namespace)))
	if len(list.Items) != 1 || list.Items[0].GetKind() != "Gadget" {
		t.Errorf("got %v", list)
	}
	ok(t, c.Delete(t.Context(), crd))
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, c.key("g"), u); !meta.IsNoMatchError(err) {
			return errors.Join(errors.New("the kind is still known"), err)
		}
		return nil
	})
}

// configuration has the shape of a generated apply configuration.
type configuration struct {
	metav1.TypeMeta `json:",inline"`
	*MetadataPart   `json:"metadata,omitempty"`
	Data            map[string]string `json:"data,omitempty"`
}

// MetadataPart is embedded like the metadata in generated apply configurations.
type MetadataPart struct {
	Name      *string           `json:"name,omitempty"`
	Namespace *string           `json:"namespace,omitempty"`
	UID       *string           `json:"uid,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

func testApplyConfigurations(t *testing.T, c live) {
	configured := &configuration{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Data: map[string]string{"a": "1"}}
	if err := client.ApplyConfiguration(t.Context(), c, configured); err == nil {
		t.Error("no name, and no error")
	}
	configured.MetadataPart = &MetadataPart{Name: new("a"), Namespace: &c.namespace}
	ok(t, client.ApplyConfiguration(t.Context(), c, configured))
	if configured.UID == nil || *configured.UID == "" {
		t.Errorf("got %+v", configured.MetadataPart)
	}
	other := &configuration{TypeMeta: configured.TypeMeta, MetadataPart: &MetadataPart{Name: new("a"),
		Namespace: &c.namespace}, Data: map[string]string{"a": "2"}}
	if err := client.ApplyConfiguration(t.Context(), c, other, client.FieldOwner("other")); !apierrors.IsConflict(err) ||
		other.UID != nil {
		t.Errorf("got %v, %+v", err, other)
	}
	if err := client.ApplyConfiguration(t.Context(), c, configuration{}); err == nil {
		t.Error("no pointer, and no error")
	}
}

func testStrategicPatch(t *testing.T, c live) {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "1"}, {Name: "b", Image: "1"}}},
			},
		},
	}
	ok(t, c.Create(t.Context(), d))
	mine, theirs := d.DeepCopy(), d.DeepCopy()
	theirs.Spec.Template.Spec.Containers[1].Image = "theirs"
	ok(t, c.Patch(t.Context(), theirs, client.StrategicMergeFrom(d)))
	mine.Spec.Template.Spec.Containers[0].Image = "mine"
	mine.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	ok(t, c.Patch(t.Context(), mine, client.StrategicMergeFrom(d)))
	if got := mine.Spec.Template.Spec.Containers; got[0].Image != "mine" || got[1].Image != "theirs" ||
		mine.Spec.Strategy.Type != "Recreate" {
		t.Errorf("got %v, %v", got, mine.Spec.Strategy)
	}
	late := d.DeepCopy()
	late.Labels = map[string]string{"late": ""}
	if err := c.Patch(t.Context(), late, client.StrategicMergeFromWithOptimisticLock(d)); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
}

func testWatchOfAClient(t *testing.T, c live) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c.create(t, "a")
	metas := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	plain := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}}
	named := client.MatchingLabels{"name": "a"}
	for _, list := range []object.List{&corev1.ConfigMapList{}, metas, plain} {
		events, err := c.Watch(ctx, list, client.InNamespace(c.namespace), named)
		ok(t, err)
		if got := next(t, events); got != "ADDED a" {
			t.Errorf("%T: got %q", list, got)
		}
		ok(t, events.Close())
	}
	var list corev1.ConfigMapList
	ok(t, c.List(ctx, &list, client.InNamespace(c.namespace)))
	events, err := c.Watch(ctx, &list, client.InNamespace(c.namespace))
	ok(t, err)
	c.create(t, "b")
	if got := next(t, events); got != "ADDED b" {
		t.Errorf("got %q", got)
	}
	ok(t, events.Close())
	if _, err := c.Watch(ctx, &list, client.Limit(1)); err == nil {
		t.Error("a limit, and no error")
	}
}

func testScopeOfKinds(t *testing.T, c live) {
	for o, want := range map[object.Object]bool{&corev1.ConfigMap{}: true, &corev1.Namespace{}: false,
		metadataOf(""): true} {
		if got, err := c.IsObjectNamespaced(o); err != nil || got != want {
			t.Errorf("%T: got %t, %v", o, got, err)
		}
	}
	if got, err := c.IsObjectNamespaced(&corev1.NamespaceList{}); err != nil || got {
		t.Errorf("a list: got %t, %v", got, err)
	}
	if gvk, err := c.GroupVersionKindFor(&appsv1.Deployment{}); err != nil || gvk.String() != "apps/v1, Kind=Deployment" {
		t.Errorf("got %s, %v", gvk, err)
	}
	if _, err := c.GroupVersionKindFor(&unstructured.Unstructured{}); err == nil {
		t.Error("no kind, and no error")
	}
}
