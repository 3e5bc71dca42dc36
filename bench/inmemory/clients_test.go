package inmemory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// start starts a server with the CRD of Widgets.
func start(t *testing.T) (*rest.Config, client.WithWatch) {
	t.Helper()
	server := apiserver.New(apiserver.Options{})
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	live, err := client.NewWithWatch(server.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(widgets.SplitCRD()), crd); err != nil {
		t.Fatal(err)
	}
	if err := live.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	return server.Config(), live
}

// newWidget returns Widget i in the default namespace.
func newWidget(i int) *v1.Widget {
	w := widgets.New(i)
	w.Namespace, w.ManagedFields = "default", nil
	return w
}

// eventually polls the server until a condition holds.
func eventually(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		ok, err := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

var widgetResource = schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "widgets"}

// TestTypedClient writes and watches objects through a clientset, which uses protobuf.
func TestTypedClient(t *testing.T) {
	config, _ := start(t)
	config.ContentType = runtime.ContentTypeProtobuf
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, configMaps := t.Context(), set.CoreV1().ConfigMaps("default")
	w, err := configMaps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	created, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Data: map[string]string{"x": "1"}, BinaryData: map[string][]byte{"y": {0, 255}}}, metav1.CreateOptions{})
	if err != nil || created.UID == "" {
		t.Fatal(created, err)
	}
	created.Data["x"] = "2"
	if _, err = configMaps.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err = configMaps.Update(ctx, created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	applied, err := configMaps.Apply(ctx, corev1ac.ConfigMap("a", "default").WithData(map[string]string{"z": "3"}),
		metav1.ApplyOptions{FieldManager: "test"})
	if err != nil || len(applied.Data) != 2 {
		t.Fatal(applied, err)
	}
	if _, err = configMaps.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"data":{"x":null}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := configMaps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for event := range w.ResultChan() {
		seen = append(seen, fmt.Sprint(event.Type, event.Object.(*corev1.ConfigMap).Data))
		if len(seen) == 5 {
			break
		}
	}
	want := "ADDEDmap[x:1] MODIFIEDmap[x:2] MODIFIEDmap[x:2 z:3] MODIFIEDmap[z:3] DELETEDmap[z:3]"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestInformers fills stores through typed, dynamic and metadata informers, which exercises the pages, bookmarks and
// streams that client-go requests.
func TestInformers(t *testing.T) {
	config, live := start(t)
	ctx := t.Context()
	for i := range 700 { // more than a page
		if err := live.Create(ctx, newWidget(i)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	typed, untyped := informers.NewSharedInformerFactory(set, 0),
		dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	namespaces, all := typed.Core().V1().Namespaces(), untyped.ForResource(widgetResource)
	namespaces.Informer()
	stop := make(chan struct{})
	defer func() { close(stop); typed.Shutdown(); untyped.Shutdown() }()
	typed.Start(stop)
	all.Informer()
	untyped.Start(stop)
	if !cache.WaitForCacheSync(stop, namespaces.Informer().HasSynced, all.Informer().HasSynced) {
		t.Fatal("not synced")
	}
	if found, err := all.Lister().List(labels.Everything()); err != nil || len(found) != 700 {
		t.Errorf("%d widgets, %v", len(found), err)
	}
	if err := live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the informer receives a namespace", func() (bool, error) {
		_, err := namespaces.Lister().Get("late")
		return err == nil, err
	})
}

// TestDynamicAndMetadataClients patches objects, lists them with selectors, and reads only metadata.
func TestDynamicAndMetadataClients(t *testing.T) {
	config, live := start(t)
	ctx := t.Context()
	for i := range 10 {
		if err := live.Create(ctx, newWidget(i)); err != nil {
			t.Fatal(err)
		}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(widgetResource).Namespace("default")
	name := newWidget(3).Name
	if _, err := objects.Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"readyReplicas":7}}`),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	found, err := objects.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name, Limit: 500})
	if err != nil || len(found.Items) != 1 {
		t.Fatal(found, err)
	}
	if ready, _, _ := unstructured.NestedInt64(found.Items[0].Object, "status", "readyReplicas"); ready != 7 {
		t.Errorf("%d replicas are ready", ready)
	}
	only, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := only.Resource(widgetResource).Namespace("default").List(ctx, metav1.ListOptions{})
	if err != nil || len(partial.Items) != 10 {
		t.Errorf("%v %v", partial, err)
	}
	if err := objects.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "tier=backend"}); err != nil {
		t.Fatal(err)
	}
	if found, err = objects.List(ctx, metav1.ListOptions{}); err != nil || len(found.Items) != 0 {
		t.Errorf("%d remain, %v", len(found.Items), err)
	}
}

// TestDiscovery uses each discovery client of client-go: aggregated, cached, and a mapper that refreshes.
func TestDiscovery(t *testing.T) {
	config, _ := start(t)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	for short, want := range map[string]string{"cm": "configmaps", "ns": "namespaces", "crd": "customresourcedefinitions",
		"widget": "widgets"} {
		if found, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: short}); err != nil ||
			found.Resource != want {
			t.Errorf("%s: %v, %v", short, found, err)
		}
	}
	if version, err := client.ServerVersion(); err != nil || version.Major != "1" {
		t.Errorf("%v, %v", version, err)
	}
	documents, err := client.OpenAPIV3().Paths()
	if err != nil || documents["apis/bench.example.com/v1"] == nil {
		t.Fatal(documents, err)
	}
	if data, err := documents["apis/bench.example.com/v1"].Schema(runtime.ContentTypeJSON); err != nil ||
		!strings.Contains(string(data), "com.example.bench.v1.Widget") {
		t.Errorf("%.200s, %v", data, err)
	}
	if document, err := client.OpenAPISchema(); err != nil || document.GetDefinitions() == nil {
		t.Errorf("%v", err)
	}
	preferred, err := client.ServerPreferredResources()
	if err != nil || len(preferred) < 3 {
		t.Errorf("%d groups, %v", len(preferred), err)
	}
}
