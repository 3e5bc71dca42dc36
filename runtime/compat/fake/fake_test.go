package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/fake"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

var shelfVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// shelf is a kind that has no definition.
type shelf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Books int    `json:"books,omitempty"`
		Wide  number `json:"wide,omitempty"`
	} `json:"spec,omitempty"`
	Status struct {
		Full bool `json:"full,omitempty"`
	} `json:"status,omitempty"`
}

// number is a number that is kept as text, whose pointer says how it looks in JSON.
type number string

func (n *number) MarshalJSON() ([]byte, error) { return []byte(*n), nil }

func (n *number) UnmarshalJSON(data []byte) error {
	*n = number(data)
	return json.Unmarshal(data, new(float64))
}

func (s *shelf) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

type shelfList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []shelf `json:"items"`
}

func (l *shelfList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = slices.Clone(l.Items)
	return &out
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypeWithName(shelfVersion.WithKind("Shelf"), &shelf{})
	scheme.AddKnownTypeWithName(shelfVersion.WithKind("ShelfList"), &shelfList{})
	metav1.AddToGroupVersion(scheme, shelfVersion)
	return scheme
}

func TestObjectsAreAsGiven(t *testing.T) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	given := []object.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "bare"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", Generation: 7, UID: "mine"}, Status: appsv1.StatefulSetStatus{Replicas: 3}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "claims"}, Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{
			{ObjectMeta: metav1.ObjectMeta{Name: "bare"}},
			{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "typed"}},
		}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "going", Finalizers: []string{"example.com/keep"}, DeletionTimestamp: &now,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "bare"}},
		}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", CreationTimestamp: now}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Phase: corev1.NodeRunning}},
		&shelf{ObjectMeta: metav1.ObjectMeta{Name: "nowhere"}},
		func() object.Object {
			s := &shelf{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u"}}
			s.Spec.Books, s.Spec.Wide, s.Status.Full = 3, "0.5", true
			return s
		}(),
	}
	scheme := testScheme(t)
	var begun []object.Object // which is told its versions
	for _, obj := range given {
		begun = append(begun, obj.DeepCopyObject().(object.Object))
	}
	initial := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&shelf{}).WithObjects(begun...).Build()
	empty := fake.NewClientBuilder().WithScheme(scheme).Build()
	for _, obj := range given {
		want := obj.DeepCopyObject().(object.Object)
		got := obj.DeepCopyObject().(object.Object)
		if err := initial.Get(t.Context(), object.KeyOf(obj), got); err != nil {
			t.Fatal(err)
		}
		if got.GetResourceVersion() == "" {
			t.Errorf("%T %s has no version", obj, obj.GetName())
		}
		got.SetResourceVersion("")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T %s:\n%s", obj, obj.GetName(), diff)
		}
		created := obj.DeepCopyObject().(object.Object)
		if err := empty.Create(t.Context(), created); err != nil {
			t.Errorf("create %T %s: %v", obj, obj.GetName(), err)
		}
		created.SetResourceVersion("")
		want.SetDeletionTimestamp(nil) // which a creation cannot give
		if diff := cmp.Diff(want, created); diff != "" {
			t.Errorf("created %T %s:\n%s", obj, obj.GetName(), diff)
		}
	}
	pods := &corev1.PodList{}
	if err := initial.List(t.Context(), pods); err != nil || len(pods.Items) != 2 || pods.ResourceVersion != "" {
		t.Errorf("%v %v", pods.Items, err)
	}
	if err := initial.List(t.Context(), pods, client.InNamespace("n")); err != nil || len(pods.Items) != 1 {
		t.Errorf("%v %v", pods.Items, err)
	}
	if err := initial.DeleteAllOf(t.Context(), &corev1.Pod{}); err != nil {
		t.Error(err)
	}
	if err := initial.List(t.Context(), pods); err != nil || len(pods.Items) != 0 {
		t.Errorf("%v %v", pods.Items, err)
	}
}

func TestManagedFieldsAreReturnedOnRequest(t *testing.T) {
	entry := metav1.ManagedFieldsEntry{
		Manager: "one", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`),
	}
	given := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{entry}}, Data: map[string]string{"a": "b"}}
	}
	shown := fake.NewClientBuilder().WithReturnManagedFields().WithObjects(given()).Build()
	hidden := fake.NewClientBuilder().WithObjects(given()).Build()
	got := &corev1.ConfigMap{}
	if err := shown.Get(t.Context(), object.Key{Namespace: "n", Name: "a"}, got); err != nil || len(got.ManagedFields) != 1 || got.ManagedFields[0].String() != entry.String() {
		t.Errorf("got %v, %v", got.ManagedFields, err)
	}
	if err := hidden.Get(t.Context(), object.Key{Namespace: "n", Name: "a"}, got); err != nil || len(got.ManagedFields) != 0 {
		t.Errorf("got %v, %v", got.ManagedFields, err)
	}
	// Who applies without a field of its own takes it away.
	apply := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "n", "name": "a"}, "data": map[string]any{"c": "d"}}}
	if err := shown.Apply(t.Context(), apply, client.FieldOwner("one")); err != nil {
		t.Fatal(err)
	}
	if err := shown.Get(t.Context(), object.Key{Namespace: "n", Name: "a"}, got); err != nil || len(got.Data) != 1 || got.Data["c"] != "d" || len(got.ManagedFields) != 1 {
		t.Errorf("got %v, %v, %v", got.Data, got.ManagedFields, err)
	}
}

func TestTheLastFinalizerLetsAnObjectGo(t *testing.T) {
	now := metav1.Now()
	going := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "going", Finalizers: []string{"example.com/keep"}, DeletionTimestamp: &now}}
	c := fake.NewClientBuilder().WithObjects(going).Build()
	key := object.KeyOf(going)
	if err := c.Get(t.Context(), key, going); err != nil {
		t.Fatal(err)
	}
	controllerutil.RemoveFinalizer(going, "example.com/keep")
	if err := c.Update(t.Context(), going); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, going); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func TestStatusIsWrittenByItsSubresource(t *testing.T) {
	for name, with := range map[string]bool{"with": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			one := &shelf{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
			builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(one)
			if with {
				builder.WithStatusSubresource(&shelf{})
			}
			c := builder.Build()
			get := func() *shelf {
				got := &shelf{}
				if err := c.Get(t.Context(), object.KeyOf(one), got); err != nil {
					t.Fatal(err)
				}
				return got
			}
			changed := get()
			changed.Status.Full, changed.Spec.Books = true, 5
			if err := c.Update(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
			if got := get(); got.Status.Full == with || got.Spec.Books != 5 {
				t.Errorf("after an update: %+v", got)
			}
			changed = get()
			changed.Status.Full, changed.Spec.Books = true, 9
			err := c.Status().Update(t.Context(), changed)
			if with && (err != nil || get().Spec.Books != 5 || !get().Status.Full) || !with && !apierrors.IsNotFound(err) {
				t.Errorf("after an update of the status: %+v %v", get(), err)
			}
			base := get()
			patched := base.DeepCopyObject().(*shelf)
			patched.Status.Full = false
			err = c.Status().Patch(t.Context(), patched, client.MergeFrom(base))
			if with && (err != nil || get().Status.Full) || !with && !apierrors.IsNotFound(err) {
				t.Errorf("after a patch of the status: %+v %v", get(), err)
			}
		})
	}
}

func TestListsSelectByIndexes(t *testing.T) {
	objects := []object.Object{}
	for name, books := range map[string]int{"a": 1, "b": 2, "c": 2} {
		s := &shelf{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Labels: map[string]string{"name": name}}}
		s.Spec.Books = books
		objects = append(objects, s)
	}
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(objects...).WithIndex(&shelf{}, "books", func(o object.Object) []string {
		return []string{string(rune('0' + o.(*shelf).Spec.Books))}
	}).Build()
	for want, opts := range map[string][]client.ListOption{
		"bc": {client.MatchingFields{"books": "2"}}, "a": {client.MatchingFields{"books": "1"}, client.InNamespace("n")}, "": {client.MatchingFields{"books": "3"}},
		"c": {client.MatchingFields{"books": "2", "metadata.name": "c"}}, "b": {client.MatchingFields{"books": "2"}, client.MatchingLabels{"name": "b"}},
	} {
		list, got := &shelfList{}, ""
		if err := c.List(t.Context(), list, opts...); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		for _, item := range list.Items {
			got += item.Name
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := c.List(t.Context(), &shelfList{}, client.MatchingFields{"other": "1"}); err == nil {
		t.Error("a field without an index")
	}
}

func TestClientsOfABuilderShareNothing(t *testing.T) {
	boom := errors.New("boom")
	builder := fake.NewClientBuilder().WithLists(&corev1.ConfigMapList{Items: []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}).
		WithRuntimeObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).
		WithInterceptorFuncs(client.Interceptor{Update: func(context.Context, client.Client, object.Object, ...client.UpdateOption) error { return boom }})
	one, other := builder.Build(), builder.Build()
	got := &corev1.ConfigMap{}
	if err := one.Get(t.Context(), object.Key{Name: "a"}, got); err != nil {
		t.Fatal(err)
	}
	if err := one.Update(t.Context(), got); !errors.Is(err, boom) {
		t.Error(err)
	}
	if err := one.Delete(t.Context(), got); err != nil {
		t.Error(err)
	}
	if err := one.Get(t.Context(), object.Key{Name: "a"}, got); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	if err := other.Get(t.Context(), object.Key{Name: "a"}, got); err != nil {
		t.Error(err)
	}
}

func TestKindsThatNobodyKnowsAreServed(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	for _, version := range []string{"v1", "v2"} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/" + version, "kind": "Thing", "metadata": map[string]any{"generateName": "t-"}}}
		if err := c.Create(t.Context(), u); err != nil || u.GetName() == "t-" || u.GetNamespace() != "" {
			t.Errorf("%v %v", u, err)
		}
	}
}

// What the client of a test began with, the test may change and write back, as with controller-runtime's fake client.
func TestWhatAClientBeginsWithCanBeUpdatedAndDeleted(t *testing.T) {
	given := &shelf{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(given).Build()
	given.Spec.Books = 4
	if err := c.Update(t.Context(), given); err != nil {
		t.Error(err)
	}
	if err := c.Delete(t.Context(), given); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), object.KeyOf(given), given); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestWhatIsGivenWaitsForNoGarbageCollector(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	for _, policy := range []metav1.DeletionPropagation{"", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		for how, remove := range map[string]func(*batchv1.Job) error{
			"delete": func(job *batchv1.Job) error { return c.Delete(t.Context(), job, client.PropagationPolicy(policy)) },
			"delete all in a namespace": func(job *batchv1.Job) error {
				return c.DeleteAllOf(t.Context(), job, client.InNamespace("n"), client.PropagationPolicy(policy))
			},
			"delete all": func(job *batchv1.Job) error { return c.DeleteAllOf(t.Context(), job, client.PropagationPolicy(policy)) },
		} {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}} // which are orphaned where nothing else is said
			if err := c.Create(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if err := remove(job); err != nil {
				t.Error(err)
			}
			if err := c.Get(t.Context(), object.KeyOf(job), job); !apierrors.IsNotFound(err) {
				t.Fatalf("%s, %q: it waits for what it owns: %v", how, policy, err)
			}
		}
	}
}

func TestVersionsOfWhatIsGivenCountItsWrites(t *testing.T) {
	ctx := t.Context()
	begun, own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "begun"}}, &shelf{ObjectMeta: metav1.ObjectMeta{Name: "own", ResourceVersion: "41"}}
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(begun, own).WithStatusSubresource(&shelf{}).Build()
	made, kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "made"}}, &shelf{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	for _, obj := range []object.Object{made, kept} {
		if err := c.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	var was []string
	for _, obj := range []object.Object{begun, own, made, kept} {
		was = append(was, obj.GetResourceVersion())
	}
	if want := []string{"999", "41", "1", "1"}; !slices.Equal(was, want) {
		t.Errorf("the first versions are %q, want %q", was, want)
	}
	stale := made.DeepCopy()
	made.Data = map[string][]byte{"a": nil}
	kept.Spec.Books++
	for _, obj := range []object.Object{made, kept} {
		if err := c.Update(ctx, obj); err != nil || obj.GetResourceVersion() != "2" {
			t.Errorf("%T has version %s after an update: %v", obj, obj.GetResourceVersion(), err)
		}
	}
	if kept.Status.Full = true; c.Status().Update(ctx, kept) != nil || kept.ResourceVersion != "3" {
		t.Errorf("version %s after the status was written", kept.ResourceVersion)
	}
	if err := c.Update(ctx, stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of version 1: %v", err)
	}
	if err := c.Delete(ctx, begun, client.Preconditions{ResourceVersion: new("998")}); !apierrors.IsConflict(err) {
		t.Errorf("a deletion of a version that is not there: %v", err)
	}
	if err := errors.Join(c.Delete(ctx, made), c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "made"}})); err != nil {
		t.Error(err)
	}
	if err := c.Get(ctx, object.KeyOf(made), made); err != nil || made.ResourceVersion != "1" {
		t.Errorf("version %s of what was made again: %v", made.ResourceVersion, err)
	}
}

func TestWatchesOfWhatIsGivenShowItsVersions(t *testing.T) {
	ctx, kept := t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	c := fake.NewClientBuilder().WithObjects(kept).Build()
	events, err := c.Watch(ctx, &corev1.SecretList{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	kept.Labels = map[string]string{"a": "b"}
	if err := errors.Join(c.Update(ctx, kept), c.Delete(ctx, kept), c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}})); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 4 {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Type)+" "+e.Object.GetResourceVersion())
	}
	if want := []string{"ADDED 999", "MODIFIED 1000", "DELETED 1000", "ADDED 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGenerationsAreAsGiven(t *testing.T) {
	ctx, set := t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 3}}
	c := fake.NewClientBuilder().WithObjects(set).Build()
	set.Generation++
	set.Status.Replicas = 1
	if err := c.Update(ctx, set); err != nil || set.Generation != 4 {
		t.Errorf("generation %d after an update to 4: %v", set.Generation, err)
	}
	set.Generation, set.Status.Replicas = 9, 2
	if err := c.Status().Update(ctx, set); err != nil || set.Generation != 4 {
		t.Errorf("generation %d after the status was written: %v", set.Generation, err)
	}
}

// What has no name is not there, a call without a context has one, an option that is nil is none, and what is wrong with a scheme is said as the scheme says it.
func TestCallsOfWhatIsGivenAreForgiving(t *testing.T) {
	ctx, bare := t.Context(), &corev1.Secret{}
	c := fake.NewClientBuilder().Build()
	for name, err := range map[string]error{
		"get": c.Get(ctx, object.Key{Namespace: "n"}, bare), "update": c.Update(ctx, bare), "delete": c.Delete(ctx, bare),
	} {
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s of what has no name: %v", name, err)
		}
	}
	if err := c.Create(context.Context(nil), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Errorf("without a context: %v", err)
	}
	if err := c.Get(ctx, object.Key{Name: "a"}, bare, nil); err != nil {
		t.Errorf("with an option that is nil: %v", err)
	}
	none := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	for name, err := range map[string]error{
		"get": none.Get(ctx, object.Key{Name: "a"}, bare), "list": none.List(ctx, &corev1.SecretList{}), "create": none.Create(ctx, bare),
		"delete": none.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), "delete all": none.DeleteAllOf(ctx, bare),
	} {
		if !runtime.IsNotRegisteredError(err) {
			t.Errorf("%s of a kind that the scheme has not: %v", name, err)
		}
	}
}

func TestSubresourcesNeedNotBeInTheScheme(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(account).Build()
	for name, spec := range map[string]authenticationv1.TokenRequestSpec{"bare": {}, "short": {ExpirationSeconds: new(int64(0))}} {
		request := &authenticationv1.TokenRequest{Spec: spec}
		if err := c.SubResource("token").Create(t.Context(), account, request); err != nil || request.Status.Token == "" {
			t.Errorf("%s: got %+v, %v", name, request, err)
		}
	}
}
