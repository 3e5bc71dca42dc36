package client_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// seen returns an interceptor that records all calls instead of passing them on, with the object's namespace and the
// write options that are set.
func seen(calls *[]string) client.Interceptor {
	note := func(verb string, o object.Object, write client.WriteOptions) error {
		call := verb
		if o != nil {
			call += " in " + o.GetNamespace()
		}
		if write.DryRun {
			call += " dry"
		}
		for _, text := range []string{write.FieldOwner, write.FieldValidation} {
			if text != "" {
				call += " " + text
			}
		}
		*calls = append(*calls, call)
		return nil
	}
	return client.Interceptor{
		Get: func(_ context.Context, _ client.Client, key object.Key, _ object.Object, _ ...client.GetOption) error {
			return note("get "+key.String(), nil, client.WriteOptions{})
		},
		List: func(_ context.Context, _ client.Client, _ object.List, opts ...client.ListOption) error {
			o, err := client.ListOptionsOf(opts...)
			return errors.Join(err, note("list in "+o.Namespace, nil, client.WriteOptions{}))
		},
		Watch: func(_ context.Context, _ client.WithWatch, _ object.List,
			opts ...client.ListOption) (client.Stream[object.Object], error) {
			o, err := client.ListOptionsOf(opts...)
			return nil, errors.Join(err, note("watch in "+o.Namespace, nil, client.WriteOptions{}))
		},
		Create: func(_ context.Context, _ client.Client, obj object.Object, opts ...client.CreateOption) error {
			o, err := client.CreateOptionsOf(opts...)
			return errors.Join(err, note("create", obj, o))
		},
		Update: func(_ context.Context, _ client.Client, obj object.Object, opts ...client.UpdateOption) error {
			o, err := client.UpdateOptionsOf(opts...)
			return errors.Join(err, note("update", obj, o))
		},
		Patch: func(_ context.Context, _ client.Client, obj object.Object, _ client.Patch, opts ...client.PatchOption) error {
			o, err := client.PatchOptionsOf(opts...)
			return errors.Join(err, note("patch", obj, o))
		},
		Apply: func(_ context.Context, _ client.Client, obj object.Object, opts ...client.ApplyOption) error {
			o, err := client.ApplyOptionsOf(opts...)
			return errors.Join(err, note("apply", obj, o))
		},
		Delete: func(_ context.Context, _ client.Client, obj object.Object, opts ...client.DeleteOption) error {
			o, err := client.DeleteOptionsOf(opts...)
			return errors.Join(err, note("delete", obj, client.WriteOptions{DryRun: o.DryRun}))
		},
		DeleteAllOf: func(_ context.Context, _ client.Client, obj object.Object, opts ...client.DeleteAllOfOption) error {
			var o client.DeleteAllOfOptions
			for _, opt := range opts {
				opt.ApplyToDeleteAllOf(&o)
			}
			return note("delete all in "+o.ListOptions.Namespace, nil, client.WriteOptions{DryRun: o.DeleteOptions.DryRun})
		},
		SubResourceGet: func(_ context.Context, _ client.Client, name string, obj, _ object.Object,
			_ ...client.GetOption) error {
			return note("get "+name, obj, client.WriteOptions{})
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, name string, obj, _ object.Object,
			opts ...client.CreateOption) error {
			o, err := client.CreateOptionsOf(opts...)
			return errors.Join(err, note("create "+name, obj, o))
		},
		SubResourceUpdate: func(_ context.Context, _ client.Client, name string, obj object.Object,
			opts ...client.UpdateOption) error {
			o, err := client.UpdateOptionsOf(opts...)
			return errors.Join(err, note("update "+name, obj, o))
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, name string, obj object.Object, _ client.Patch,
			opts ...client.PatchOption) error {
			o, err := client.PatchOptionsOf(opts...)
			return errors.Join(err, note("patch "+name, obj, o))
		},
		SubResourceApply: func(_ context.Context, _ client.Client, name string, obj object.Object,
			opts ...client.ApplyOption) error {
			o, err := client.ApplyOptionsOf(opts...)
			return errors.Join(err, note("apply "+name, obj, o))
		},
	}
}

// everyCall calls each method of c once, with an object without a namespace.
func everyCall(t *testing.T, c client.Client) {
	t.Helper()
	ctx, patch := t.Context(), client.RawPatch(types.MergePatchType, []byte("{}"))
	pod := func() *corev1.Pod { return &corev1.Pod{} }
	_, err := c.(client.WithWatch).Watch(ctx, &corev1.PodList{})
	scale := c.SubResource("scale")
	err = errors.Join(err,
		c.Get(ctx, object.Key{Name: "a"}, pod()), c.List(ctx, &corev1.PodList{}),
		c.Create(ctx, pod()), c.Update(ctx, pod()), c.Patch(ctx, pod(), patch), c.Apply(ctx, pod()),
		c.Delete(ctx, pod()), c.DeleteAllOf(ctx, pod()),
		scale.Get(ctx, pod(), pod()), scale.Create(ctx, pod(), pod()), scale.Update(ctx, pod()),
		scale.Patch(ctx, pod(), patch), scale.Apply(ctx, pod()),
		c.Status().Update(ctx, pod()), c.Status().Patch(ctx, pod(), patch), c.Status().Apply(ctx, pod()),
	)
	if err != nil {
		t.Fatal(err)
	}
}

func TestInterceptorSeesEveryCall(t *testing.T) {
	var calls []string
	c := client.Intercept(connect(t, newServer(), client.Options{}), seen(&calls))
	c = client.Intercept(c, client.Interceptor{}) // an empty interceptor passes all calls on
	everyCall(t, c)
	want := []string{
		"watch in ", "get /a", "list in ", "create in ", "update in ", "patch in ", "apply in ", "delete in ",
		"delete all in ",
		"get scale in ", "create scale in ", "update scale in ", "patch scale in ", "apply scale in ",
		"update status in ", "patch status in ", "apply status in ",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("got  %q\nwant %q", calls, want)
	}
	if functions := reflect.TypeFor[client.Interceptor]().NumField(); len(want) != functions+3 {
		t.Errorf("%d functions, and a test of %d calls", functions, len(want))
	}
}

func TestInterceptorCallsWhatIsBelow(t *testing.T) {
	var calls []string
	below := client.Intercept(connect(t, newServer(), client.Options{}), seen(&calls))
	fails := errors.New("no")
	c := client.Intercept(below, client.Interceptor{
		Create: func(ctx context.Context, c client.Client, obj object.Object, opts ...client.CreateOption) error {
			return c.Update(ctx, obj)
		},
		Delete: func(context.Context, client.Client, object.Object, ...client.DeleteOption) error { return fails },
	})
	if err := errors.Join(c.Create(t.Context(), configMap("a"))); err != nil {
		t.Error(err)
	}
	if err := c.Delete(t.Context(), configMap("a")); err != fails {
		t.Errorf("got %v", err)
	}
	if fmt.Sprint(calls) != "[update in default]" {
		t.Errorf("got %q", calls)
	}
}

func TestWrappersSetOptionsOfWrites(t *testing.T) {
	for name, test := range map[string]struct {
		wrap    func(client.Client) client.Client
		suffix  string
		deletes bool
	}{
		"dry run": {client.NewDryRunClient, " dry", true},
		"owner":   {func(c client.Client) client.Client { return client.WithFieldOwner(c, "me") }, " me", false},
		"validation": {func(c client.Client) client.Client { return client.WithFieldValidation(c, "Strict") }, " Strict",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			everyCall(t, test.wrap(client.Intercept(connect(t, newServer(), client.Options{}), seen(&calls))))
			for _, call := range calls {
				read := strings.HasPrefix(call, "get") || strings.HasPrefix(call, "list") || strings.HasPrefix(call, "watch")
				deletes := strings.HasPrefix(call, "delete")
				if want := !read && (test.deletes || !deletes); strings.HasSuffix(call, test.suffix) != want {
					t.Errorf("got %q", call)
				}
			}
		})
	}
}

func TestWrappersReturnTheErrorsOfWrites(t *testing.T) {
	refused := errors.New("refused")
	below := client.Intercept(connect(t, newServer(), client.Options{}), client.Interceptor{
		Create: func(context.Context, client.Client, object.Object, ...client.CreateOption) error { return refused },
		Update: func(context.Context, client.Client, object.Object, ...client.UpdateOption) error { return refused },
		Patch: func(context.Context, client.Client, object.Object, client.Patch, ...client.PatchOption) error {
			return refused
		},
		Apply:  func(context.Context, client.Client, object.Object, ...client.ApplyOption) error { return refused },
		Delete: func(context.Context, client.Client, object.Object, ...client.DeleteOption) error { return refused },
		DeleteAllOf: func(context.Context, client.Client, object.Object,
			...client.DeleteAllOfOption) error {
			return refused
		},
		SubResourceCreate: func(context.Context, client.Client, string, object.Object, object.Object,
			...client.CreateOption) error {
			return refused
		},
		SubResourceUpdate: func(context.Context, client.Client, string, object.Object, ...client.UpdateOption) error {
			return refused
		},
		SubResourcePatch: func(context.Context, client.Client, string, object.Object, client.Patch,
			...client.PatchOption) error {
			return refused
		},
		SubResourceApply: func(context.Context, client.Client, string, object.Object, ...client.ApplyOption) error {
			return refused
		},
	})
	c, obj, patch := client.NewDryRunClient(below), configMap("a"), client.RawPatch("application/merge-patch+json",
		[]byte(`{}`))
	for name, err := range map[string]error{
		"create": c.Create(t.Context(), obj), "update": c.Update(t.Context(), obj), "patch": c.Patch(t.Context(), obj, patch),
		"apply": c.Apply(t.Context(), obj, client.FieldOwner("me")), "delete": c.Delete(t.Context(), obj),
		"delete all":    c.DeleteAllOf(t.Context(), obj, client.InNamespace("default")),
		"create status": c.SubResource("status").Create(t.Context(), obj, obj),
		"update status": c.Status().Update(t.Context(), obj),
		"patch status":  c.Status().Patch(t.Context(), obj, patch),
		"apply status":  c.Status().Apply(t.Context(), obj, client.FieldOwner("me")),
	} {
		if !errors.Is(err, refused) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOptionsOfACallComeBeforeThoseOfAWrapper(t *testing.T) {
	var calls []string
	c := client.WithFieldOwner(client.Intercept(connect(t, newServer(), client.Options{}), seen(&calls)), "me")
	if err := c.Create(t.Context(), configMap("a"), client.FieldOwner("you")); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(calls) != "[create in default you]" {
		t.Errorf("got %q", calls)
	}
	if err := c.Create(t.Context(), configMap("a"), client.FieldOwner("you"), client.FieldOwner("they")); err == nil {
		t.Error("two owners, and no error")
	}
}

func TestNamespacedClientStaysInItsNamespace(t *testing.T) {
	var calls []string
	below := client.Intercept(connect(t, newServer(), client.Options{}), seen(&calls))
	c := client.NewNamespacedClient(below, "mine")
	everyCall(t, c)
	for _, call := range calls {
		if !strings.Contains(call, "mine") {
			t.Errorf("got %q", call)
		}
	}
	calls = nil
	theirs := configMap("a")
	if err := c.Create(t.Context(), theirs); err == nil || !strings.Contains(err.Error(), `"default"`) ||
		theirs.Namespace != "default" {
		t.Errorf("got %v", err)
	}
	if err := c.List(t.Context(), &corev1.PodList{}, client.InNamespace("default")); err == nil {
		t.Error("a list of another namespace")
	}
	if err := c.Get(t.Context(), object.Key{Namespace: "default", Name: "a"}, configMap("")); err == nil {
		t.Error("an object of another namespace")
	}
	if err := errors.Join(c.Create(t.Context(), &corev1.Namespace{}),
		c.List(t.Context(), &corev1.NamespaceList{})); err != nil {
		t.Error(err)
	}
	if got := calls[len(calls)-2:]; !slices.Equal(got, []string{"create in ", "list in "}) {
		t.Errorf("cluster-scoped: got %q", got)
	}
}

func TestNamespacedClientLeavesAnObjectAloneOnAnError(t *testing.T) {
	s := newServer()
	s.fails("POST /api/v1/namespaces/mine/configmaps", 500, "")
	c := client.NewNamespacedClient(connect(t, s, client.Options{}), "mine")
	cm := &corev1.ConfigMap{}
	if err := c.Create(t.Context(), cm); err == nil || cm.Namespace != "" {
		t.Errorf("got %v, %q", err, cm.Namespace)
	}
}

func TestOnlyAClientThatWatchesIsWrappedAsOne(t *testing.T) {
	c := connect(t, newServer(), client.Options{})
	if _, ok := client.NewDryRunClient(c).(client.WithWatch); !ok {
		t.Error("the watch is lost")
	}
	if _, ok := client.NewDryRunClient(client.NewClient(c, c)).(client.WithWatch); ok {
		t.Error("a cached client cannot watch")
	}
}

func TestSumsOfOptionsAreOptions(t *testing.T) {
	scale := &corev1.Pod{}
	write, err := client.UpdateOptionsOf(client.FieldOwner("me"), client.DryRunAll, client.FieldValidation("Warn"),
		client.WithSubResourceBody(scale))
	if err != nil {
		t.Fatal(err)
	}
	for name, sum := range map[string]func() (client.WriteOptions, error){
		"create": func() (client.WriteOptions, error) { return client.CreateOptionsOf(&write) },
		"update": func() (client.WriteOptions, error) { return client.UpdateOptionsOf(&write) },
		"patch":  func() (client.WriteOptions, error) { return client.PatchOptionsOf(&write) },
		"apply":  func() (client.WriteOptions, error) { return client.ApplyOptionsOf(&write) },
	} {
		if got, err := sum(); err != nil || !reflect.DeepEqual(got, write) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if _, err := client.PatchOptionsOf(&write, client.FieldOwner("you")); err == nil {
		t.Error("two owners, and no error")
	}
	uid := types.UID("u")
	deleting, err := client.DeleteOptionsOf(client.GracePeriodSeconds(3), client.PropagationPolicy("Orphan"),
		client.Preconditions{UID: &uid}, client.DryRunAll)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.DeleteOptionsOf(&deleting); err != nil || !reflect.DeepEqual(got, deleting) {
		t.Errorf("delete: got %+v, %v", got, err)
	}
	if _, err := client.DeleteOptionsOf(&deleting, client.PropagationPolicy("Background")); err == nil {
		t.Error("two policies, and no error")
	}
	list, err := client.ListOptionsOf(client.Live, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency,
		client.Limit(2))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.ListOptionsOf(&list); err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("list: got %+v, %v", got, err)
	}
	get, err := client.GetOptionsOf(client.Live, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.GetOptionsOf(&get); err != nil || !reflect.DeepEqual(got, get) {
		t.Errorf("get: got %+v, %v", got, err)
	}
}
