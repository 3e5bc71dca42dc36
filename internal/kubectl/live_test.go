//go:build linux || darwin

package kubectl_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// server is an API server for one test, with the reports and notices of its client.
type server struct {
	*kubectl.Client
	reports, notices []string
}

func start(t *testing.T, opts controlplane.Options) *server {
	t.Helper()
	assets, err := controlplane.Build(t.Context(), opts, controlplane.Progress{Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	opts.Dir, opts.Attached = t.TempDir(), true
	instance, err := controlplane.Start(t.Context(), assets, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	client, err := kubectl.Connect(instance.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Client: client}
	client.Report = func(object, what string) { s.reports = append(s.reports, object+" "+what) }
	client.Notice = func(what string) { s.notices = append(s.notices, what) }
	return s
}

// onEach runs a test with an in-memory API server and with a real one. make test omits the real one.
func onEach(t *testing.T, test func(t *testing.T, s *server)) {
	t.Run("memory", func(t *testing.T) { test(t, start(t, controlplane.Options{InMemory: true})) })
	t.Run("real", func(t *testing.T) { test(t, start(t, controlplane.Options{})) })
}

func (s *server) apply(t *testing.T, manifests string) {
	t.Helper()
	list, err := kubectl.ReadManifests("-", strings.NewReader(manifests))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

func (s *server) get(t *testing.T, o kubectl.GetOptions, args ...string) string {
	t.Helper()
	selection, err := kubectl.Select(args)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := s.Get(t.Context(), &out, selection, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const shelves = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Shelf, listKind: ShelfList, plural: shelves, singular: shelf, shortNames: [sh], categories: [all]}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
      additionalPrinterColumns:
        - {name: Books, type: integer, jsonPath: .spec.books}
        - {name: Wood, type: string, jsonPath: .spec.wood, priority: 1}
---
apiVersion: shop.example.com/v1
kind: Shelf
metadata: {name: long-name-of-a-shelf, labels: {room: hall}}
spec: {books: 12345678, wood: "oak\nbeech"}
---
apiVersion: shop.example.com/v1
kind: Shelf
metadata: {name: a, labels: {room: attic}, finalizers: [example.com/hold]}
spec: {books: 1}
`

// TestServer runs every operation on each kind of server.
func TestServer(t *testing.T) { onEach(t, testServer) }

func testServer(t *testing.T, s *server) {
	s.apply(t, shelves)
	s.apply(t, shelves)
	want := []string{
		"customresourcedefinition.apiextensions.k8s.io/shelves.shop.example.com created",
		"shelf.shop.example.com/long-name-of-a-shelf created", "shelf.shop.example.com/a created",
		"customresourcedefinition.apiextensions.k8s.io/shelves.shop.example.com unchanged",
		"shelf.shop.example.com/long-name-of-a-shelf unchanged", "shelf.shop.example.com/a unchanged",
	}
	if diff := cmp.Diff(want, s.reports); diff != "" {
		t.Error(diff)
	}
	const table = "NAME                   BOOKS\na                      1\nlong-name-of-a-shelf   12345678\n"
	for _, name := range []string{"shelves", "shelf", "sh", "Shelf", "shelves.shop.example.com",
		"shelf.v1.shop.example.com", "SHELVES"} {
		if got := s.get(t, kubectl.GetOptions{}, name); got != table {
			t.Errorf("get %s:\n%s", name, got)
		}
	}
	for _, test := range []struct {
		o    kubectl.GetOptions
		args []string
		want string
	}{
		{kubectl.GetOptions{Output: "wide"}, []string{"sh", "long-name-of-a-shelf"},
			"NAME                   BOOKS      WOOD\nlong-name-of-a-shelf   12345678   oak...\n"},
		{kubectl.GetOptions{Output: "name"}, []string{"sh"},
			"shelf.shop.example.com/a\nshelf.shop.example.com/long-name-of-a-shelf\n"},
		{kubectl.GetOptions{}, []string{"shelves/a"}, "NAME   BOOKS\na      1\n"},
		{kubectl.GetOptions{}, []string{"sh", "long-name-of-a-shelf", "a"},
			"NAME                   BOOKS\nlong-name-of-a-shelf   12345678\na                      1\n"},
	} {
		if got := s.get(t, test.o, test.args...); got != test.want {
			t.Errorf("get %v %+v:\n%s", test.args, test.o, got)
		}
	}
	s.apply(t, "apiVersion: v1\nkind: Service\nmetadata: {name: door}\nspec: {ports: [{port: 80}]}\n")
	all := s.get(t, kubectl.GetOptions{}, "all")
	for _, want := range []string{"service/door", "\n\nNAME", "shelf.shop.example.com/a"} {
		if !strings.Contains(all, want) {
			t.Errorf("get all has no %q:\n%s", want, all)
		}
	}
	list := s.get(t, kubectl.GetOptions{Output: "yaml"}, "sh")
	if !strings.Contains(list, "kind: List") || strings.Contains(list, "managedFields") ||
		strings.Count(list, "kind: Shelf") != 2 {
		t.Error(list)
	}
	if one := s.get(t, kubectl.GetOptions{Output: "json", ManagedFields: true}, "sh/a"); !strings.HasPrefix(one,
		"{\n  \"apiVersion\": \"shop.example.com/v1\"") || !strings.Contains(one, `"manager": "kubectl"`) {
		t.Error(one)
	}
	t.Run("selectors", s.testSelectors)
	t.Run("watch", s.testWatch)
	t.Run("wait", s.testWait)
	t.Run("mistakes", s.testMistakes)
	t.Run("delete", s.testDelete)
}

func (s *server) testSelectors(t *testing.T) {
	for _, test := range []struct {
		s    kubectl.Selection
		want string
	}{
		{kubectl.Selection{Labels: "room=hall"}, "NAME                   BOOKS\nlong-name-of-a-shelf   12345678\n"},
		{kubectl.Selection{Fields: "metadata.name=a", AllNamespaces: true},
			"NAMESPACE   NAME   BOOKS\ndefault     a      1\n"},
		{kubectl.Selection{Labels: "room=cellar"}, ""},
	} {
		var out strings.Builder
		test.s.Resources = []string{"sh"}
		if err := s.Get(t.Context(), &out, test.s, kubectl.GetOptions{}); err != nil || out.String() != test.want {
			t.Errorf("%+v: %v\n%s", test.s, err, &out)
		}
	}
	if last := s.notices[len(s.notices)-1]; last != "no shelves.shop.example.com in namespace default" {
		t.Errorf("said %q where nothing was selected", last)
	}
}

// lines is a writer that sends the lines that it receives to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func (s *server) testWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(lines, 10)
	ended := make(chan error, 1)
	// The watcher needs its own client, because a client is not safe for concurrent use.
	watcher := *s.Client
	go func() {
		ended <- watcher.Get(ctx, seen, kubectl.Selection{Resources: []string{"sh"}, Names: []string{"a"}},
			kubectl.GetOptions{Watch: true})
	}()
	await := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("the watch shows %q, want %q", got, want)
			}
		case err := <-ended:
			t.Fatalf("the watch ended: %v", err)
		case <-time.After(time.Minute):
			t.Fatalf("the watch never shows %q", want)
		}
	}
	await("NAME   BOOKS\na      1\n")
	s.apply(t, strings.Replace(shelves, "books: 1}", "books: 23}", 1))
	await("a      23\n")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
}

func (s *server) testWait(t *testing.T) {
	s.Timeout = 300 * time.Millisecond
	defer func() { s.Timeout = kubectl.DefaultTimeout }()
	crd := kubectl.Selection{Resources: []string{"crd"}, Names: []string{"shelves.shop.example.com"}}
	for _, condition := range []string{"Established", "Established=True", "Established=true"} {
		if err := s.WaitFor(t.Context(), crd, condition); err != nil {
			t.Errorf("wait for %s: %v", condition, err)
		}
	}
	for _, test := range []struct {
		s               kubectl.Selection
		condition, want string
	}{
		{crd, "Established=False",
			"condition Established of customresourcedefinition.apiextensions.k8s.io/shelves.shop.example.com is True: waited " +
				"300ms"},
		{crd, "Ready", "is not set: waited"},
		{kubectl.Selection{Resources: []string{"sh"}, Names: []string{"none"}}, "Ready", "the object does not exist"},
	} {
		if err := s.WaitFor(t.Context(), test.s, test.condition); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("wait for %s of %v = %v", test.condition, test.s, err)
		}
	}
}

func (s *server) testMistakes(t *testing.T) {
	list, err := kubectl.ReadManifests("-", strings.NewReader(`
apiVersion: example.com/v1
kind: Stranger
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: Bad_Name}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
`))
	if err != nil {
		t.Fatal(err)
	}
	errs := diagnostic.All(s.Apply(t.Context(), list))
	if len(errs) != 2 || !strings.Contains(errs[0].Error(),
		`standard input:2:1: apply stranger.example.com/a: the server has no kind "Stranger"`) ||
		!strings.Contains(errs[1].Error(), "standard input:6:1: apply configmap/Bad_Name: ") {
		t.Errorf("Apply = %v", errs)
	}
	if got := s.get(t, kubectl.GetOptions{Output: "name"}, "cm", "good"); got != "configmap/good\n" {
		t.Errorf("the object after the bad ones: %q", got)
	}
}

func (s *server) testDelete(t *testing.T) {
	s.Timeout = 300 * time.Millisecond
	err := s.Delete(t.Context(), kubectl.Selection{Resources: []string{"sh"}, Names: []string{"a"}},
		kubectl.DeleteOptions{})
	if err == nil || !strings.Contains(err.Error(), "delete shelf.shop.example.com/a: waited 300ms, and it still "+
		"exists: finalizer example.com/hold") {
		t.Errorf("Delete of what a finalizer holds = %v", err)
	}
	if last := s.notices[len(s.notices)-1]; last != "waiting for shelf.shop.example.com/a: finalizer example.com/hold" {
		t.Errorf("said %q", last)
	}
	s.Timeout = kubectl.DefaultTimeout
	s.reports = nil
	if err := s.Delete(t.Context(), kubectl.Selection{Resources: []string{"sh"}, Names: []string{"a"}},
		kubectl.DeleteOptions{NoWait: true}); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), kubectl.Selection{Resources: []string{"sh"}, Labels: "room=hall"},
		kubectl.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	missing := kubectl.Selection{Resources: []string{"sh"}, Names: []string{"none"}}
	if err := s.Delete(t.Context(), missing, kubectl.DeleteOptions{}); err == nil ||
		!strings.Contains(err.Error(), `"none" not found`) {
		t.Errorf("Delete of what does not exist = %v", err)
	}
	if err := s.Delete(t.Context(), missing, kubectl.DeleteOptions{IgnoreNotFound: true}); err != nil {
		t.Error(err)
	}
	want := []string{"shelf.shop.example.com/a is being deleted", "shelf.shop.example.com/long-name-of-a-shelf deleted",
		"shelf.shop.example.com/none not found"}
	if diff := cmp.Diff(want, s.reports); diff != "" {
		t.Error(diff)
	}
	// Only kube-controller-manager empties a namespace.
	s.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: held}\n")
	s.Timeout = 300 * time.Millisecond
	err = s.Delete(t.Context(), kubectl.Selection{Resources: []string{"ns"}, Names: []string{"held"}},
		kubectl.DeleteOptions{})
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok ||
		!strings.Contains(d.Message, "namespace finalizer kubernetes") || !strings.Contains(d.Hint, "--controller-manager") {
		t.Errorf("Delete of a namespace = %v", err)
	}
}
