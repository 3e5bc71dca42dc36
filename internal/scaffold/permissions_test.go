package scaffold_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kctrl-dev/kctrl/internal/rbac"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// permission is one verb of a rule, for all objects of a resource or one object.
type permission struct{ verb, group, resource, name string }

func (p permission) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", p.verb, strings.Trim(p.group+"/"+p.resource, "/"), p.name))
}

// notInRequests are the permissions of the project that no request of the run needs, with the reason.
var notInRequests = map[string]string{
	"update webapp.example.com/guestbooks/finalizers": "the admission plugin OwnerReferencesPermissionEnforcement asks",
}

// TestDeployedOperatorNeedsEachPermission runs the operator of a project as config/default deploys it, on API servers
// that enforce its roles. With all permissions, no request is forbidden. If one permission is removed, exactly the
// requests that need it are forbidden, or kctrl rbac reports it as missing.
func TestDeployedOperatorNeedsEachPermission(t *testing.T) {
	d := newDeployed(t)
	all := d.run(t, permission{})
	if len(all.forbidden) > 0 {
		t.Fatalf("forbidden: %v", slices.Collect(maps.Keys(all.forbidden)))
	}
	permissions := d.permissions(t)
	if len(permissions) < 30 {
		t.Errorf("the roles have only %d permissions", len(permissions))
	}
	for _, removed := range permissions {
		if !all.allowed[removed] {
			if notInRequests[removed.String()] == "" {
				t.Errorf("no request needs %s", removed)
			}
			continue
		}
		t.Run(removed.String(), func(t *testing.T) {
			t.Parallel()
			got := d.run(t, removed)
			if len(got.forbidden) != 1 || !got.forbidden[removed] {
				t.Errorf("forbidden: %v, want %s", slices.Collect(maps.Keys(got.forbidden)), removed)
			}
		})
	}
	t.Run("kctrl rbac", d.checkMarkers)
}

// checkMarkers removes the markers of permissions that no request needs, and the roles for the webhook certificate, and
// expects kctrl rbac to report them missing.
func (d *deployed) checkMarkers(t *testing.T) {
	want := slices.Collect(maps.Keys(notInRequests))
	for _, p := range d.permissions(t) {
		if p.resource == "secrets" || p.group == "admissionregistration.k8s.io" || p.group == "apiextensions.k8s.io" {
			p.name = ""
			want = append(want, p.String())
		}
	}
	file := filepath.Join(d.dir, "internal", "controller", "guestbook_controller.go")
	var kept []string
	for line := range strings.Lines(string(readFile(t, d.dir, "internal/controller/guestbook_controller.go"))) {
		if !strings.Contains(line, "+kubebuilder:rbac") || !strings.Contains(line, "/finalizers") {
			kept = append(kept, line)
		}
	}
	writeFile(t, file, []byte(strings.Join(kept, "")))
	writeFile(t, filepath.Join(d.dir, "config", "components", "webhook", "rights.yaml"), nil)
	report, err := rbac.Check(t.Context(), rbac.Options{Dir: d.dir, FS: os.DirFS(d.dir)})
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, f := range report.Findings {
		for _, verb := range f.Verbs {
			if f.Class == rbac.Missing {
				missing = append(missing, permission{verb, f.Resource.Group, f.Resource.Name, ""}.String())
			}
		}
	}
	slices.Sort(want)
	slices.Sort(missing)
	if !slices.Equal(missing, want) {
		t.Errorf("missing: %v, want %v", missing, want)
	}
}

// deployed is a project with a kind that owns a Deployment and a Service, and has a finalizer, two versions and
// webhooks.
type deployed struct {
	*testProject
	program   string
	args, env []string
	user      string
	namespace string
	objects   []*unstructured.Unstructured // all but the Deployment
	sample    *unstructured.Unstructured
	token     string // path of the resource that issues tokens
}

func newDeployed(t *testing.T) *deployed {
	t.Helper()
	d := &deployed{testProject: newOperand(t)}
	further := guestbook
	further.Version, further.Controller = "v2", false
	d.createAPI(t, further)
	d.create(t, scaffold.WebhookOptions{
		Group: guestbook.Group, Version: guestbook.Version, Kind: guestbook.Kind, Defaulting: true, Validation: true,
	})
	for _, variable := range cacheEnv() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	d.program = filepath.Join(t.TempDir(), "manager")
	goCommand(t, d.dir, nil, "build", "-ldflags=-s -w", "-o", d.program, "./cmd")
	for _, one := range objectsIn(t, d.kustomize(t, "config/default")) {
		if one.GetKind() == "Deployment" {
			d.deployment(t, one)
			continue
		}
		// The server calls no webhook: it cannot reach the Service.
		if hooks, found, _ := unstructured.NestedSlice(one.Object, "webhooks"); found {
			for _, hook := range hooks {
				hook.(map[string]any)["failurePolicy"] = "Ignore"
			}
			one.Object["webhooks"] = hooks
		}
		d.objects = append(d.objects, one)
	}
	for _, one := range objectsIn(t, d.kustomize(t, "config/samples")) {
		if one.GroupVersionKind().Version == "v1" {
			d.sample = one
		}
	}
	return d
}

// deployment takes flags, environment and service account from the Deployment of the manager.
func (d *deployed) deployment(t *testing.T, one *unstructured.Unstructured) {
	t.Helper()
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.Object, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	d.args = pod.Containers[0].Args
	var values []string // of earlier variables, which Kubernetes inserts
	for _, variable := range pod.Containers[0].Env {
		value := strings.NewReplacer(values...).Replace(variable.Value)
		values = append(values, "$("+variable.Name+")", value)
		d.env = append(d.env, variable.Name+"="+value)
	}
	d.namespace = deployment.Namespace
	d.user = "system:serviceaccount:" + d.namespace + ":" + pod.ServiceAccountName
	d.token = "/api/v1/namespaces/" + d.namespace + "/serviceaccounts/" + pod.ServiceAccountName + "/token"
}

// permissions returns the permissions of the service account's roles.
func (d *deployed) permissions(t *testing.T) (all []permission) {
	t.Helper()
	bound := map[string]bool{}
	for _, one := range d.objects {
		if !strings.HasSuffix(one.GetKind(), "RoleBinding") {
			continue
		}
		kind, _, _ := unstructured.NestedString(one.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(one.Object, "roleRef", "name")
		bound[kind+name] = true
	}
	for _, one := range d.objects {
		if !bound[one.GetKind()+one.GetName()] {
			continue
		}
		rules, _, err := unstructured.NestedSlice(one.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules {
			all = append(all, permissionsOf(rule.(map[string]any))...)
		}
	}
	return all
}

func permissionsOf(rule map[string]any) (all []permission) {
	list := func(field string) []string {
		values, _, _ := unstructured.NestedStringSlice(rule, field)
		return values
	}
	names := list("resourceNames")
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range list("apiGroups") {
		for _, resource := range list("resources") {
			for _, name := range names {
				for _, verb := range list("verbs") {
					all = append(all, permission{verb, group, resource, name})
				}
			}
		}
	}
	return all
}

// without returns a role without a permission.
func without(role *unstructured.Unstructured, removed permission) *unstructured.Unstructured {
	rules, found, _ := unstructured.NestedSlice(role.Object, "rules")
	if !found {
		return role
	}
	var kept []any
	for _, rule := range rules {
		if !slices.Contains(permissionsOf(rule.(map[string]any)), removed) {
			kept = append(kept, rule)
			continue
		}
		for _, p := range permissionsOf(rule.(map[string]any)) {
			if p == removed {
				continue
			}
			single := map[string]any{
				"apiGroups": []any{p.group}, "resources": []any{p.resource}, "verbs": []any{p.verb},
			}
			if p.name != "" {
				single["resourceNames"] = []any{p.name}
			}
			kept = append(kept, single)
		}
	}
	role.Object["rules"] = kept
	return role
}

// requests are the permissions that the requests of a run needed.
type requests struct {
	known []permission

	mu                 sync.Mutex
	allowed, forbidden map[permission]bool
	changed            chan struct{} // closed and replaced after each request
}

// next returns a channel that is closed after the next request.
func (r *requests) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *requests) used(verb, group, resource string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.allowed {
		if p.verb == verb && p.group == group && p.resource == resource {
			return true
		}
	}
	return false
}

// record records the answer to a request.
func (r *requests) record(info *request.RequestInfo, response *http.Response) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
	if !info.IsResourceRequest {
		return nil
	}
	named := permission{info.Verb, info.APIGroup, info.Resource, info.Name}
	if info.Subresource != "" {
		named.resource += "/" + info.Subresource
	}
	switch response.StatusCode {
	case http.StatusForbidden:
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(" cannot create resource ")) {
			named.verb = "create" // an apply of a missing object
		}
		r.forbidden[r.granting(named)] = true
		return nil
	case http.StatusCreated:
		created := named
		created.verb = "create"
		r.allowed[r.granting(created)] = true
	}
	r.allowed[r.granting(named)] = true
	return nil
}

// granting returns the permission that a request on a named object needs: a permission of the roles, or one that they
// lack.
func (r *requests) granting(named permission) permission {
	of := named
	of.name = ""
	if slices.Contains(r.known, of) {
		return of
	}
	return named
}

// run runs the operator on a new server until it has used all permissions or, if a permission is removed, until a
// request is forbidden.
func (d *deployed) run(t *testing.T, removed permission) *requests {
	t.Helper()
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	admin, err := client.New(server.Config(), client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range d.objects {
		if err := admin.Create(t.Context(), without(one.DeepCopy(), removed)); err != nil {
			t.Fatalf("%s %s: %v", one.GetKind(), one.GetName(), err)
		}
	}
	seen := &requests{
		known: d.permissions(t), allowed: map[permission]bool{}, forbidden: map[permission]bool{},
		changed: make(chan struct{}),
	}
	proxy := httptest.NewServer(d.proxy(server.Config().Transport, seen))
	defer proxy.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	metrics := freeAddress(t)
	var output bytes.Buffer
	ended := d.start(t, ctx, proxy.URL, metrics, &output)
	go func() {
		for removed != (permission{}) {
			next := seen.next()
			seen.mu.Lock()
			over := len(seen.forbidden) > 0
			seen.mu.Unlock()
			if over {
				stop()
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	}()
	err = d.drive(ctx, admin, server.Config().Transport, metrics, seen)
	stopped := ctx.Err() != nil
	stop()
	<-ended
	if err != nil && (removed == permission{} || !stopped) {
		t.Errorf("%v\n%s", err, output.String())
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	return &requests{allowed: maps.Clone(seen.allowed), forbidden: maps.Clone(seen.forbidden)}
}

// proxy sends requests as the service account, and records the answers. It rejects streaming lists, as servers without
// them do, because these servers check the verb list.
func (d *deployed) proxy(transport http.RoundTripper, seen *requests) http.Handler {
	infos := &request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "in-memory", "in-memory"
			r.Out.Header.Set("Impersonate-User", d.user)
		},
		Transport:     transport,
		FlushInterval: -1, // flush each event
		ModifyResponse: func(response *http.Response) error {
			info, err := infos.NewRequestInfo(response.Request)
			if err != nil {
				return err
			}
			return seen.record(info, response)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") == "" {
			forward.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Invalid","code":422}`)
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start starts the operator. It ends with the context.
func (d *deployed) start(
	t *testing.T, ctx context.Context, url, metrics string, output *bytes.Buffer,
) (ended <-chan struct{}) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, kubeconfig, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\n"+
		"clusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: c, user: {}}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: c, namespace: %s}}]\n", url, d.namespace))
	cmd := exec.CommandContext(ctx, d.program, append(slices.Clone(d.args),
		"--metrics-bind-address="+metrics, "--health-probe-bind-address=0", "--webhook-bind-address=127.0.0.1:0",
		"--webhook-secret-namespace="+d.namespace, "--leader-election-namespace="+d.namespace,
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=100ms",
	)...)
	cmd.Env = append(append(os.Environ(), d.env...), "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with the process
		defer close(done)
		_ = cmd.Wait()
	}()
	return done
}

// drive makes the operator use all of its permissions.
func (d *deployed) drive(
	ctx context.Context, admin *client.REST, transport http.RoundTripper, metrics string, seen *requests,
) error {
	sample := d.sample.DeepCopy()
	sample.SetNamespace("default")
	key := object.KeyOf(sample)
	settled := func() (bool, error) {
		err := admin.Get(ctx, key, sample)
		observed, _, _ := unstructured.NestedInt64(sample.Object, "status", "observedGeneration")
		return err == nil && observed == sample.GetGeneration(), err
	}
	used := func(verb, group, resource string) func() (bool, error) {
		return func() (bool, error) { return seen.used(verb, group, resource), nil }
	}
	patched := func(resource string) func() (bool, error) {
		return used("patch", "admissionregistration.k8s.io", resource)
	}
	image := func(name string) client.Patch {
		return client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"image":"localhost:5000/`+name+`"}}`))
	}
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	secret.SetName("webhook-certificates")
	secret.SetNamespace(d.namespace)
	steps := []struct {
		name  string
		do    func() error
		until func() (bool, error)
	}{
		{"create the sample", func() error { return admin.Create(ctx, sample) }, settled},
		{"wait for an event", nil, used("create", "events.k8s.io", "events")},
		{"wait for the webhooks", nil, patched("mutatingwebhookconfigurations")},
		{"wait for the webhooks", nil, patched("validatingwebhookconfigurations")},
		{"wait for the conversion", nil, used("patch", "apiextensions.k8s.io", "customresourcedefinitions")},
		{"change the image", func() error { return admin.Patch(ctx, sample, image("other")) }, settled},
		{"change the image again", func() error { return admin.Patch(ctx, sample, image("third")) }, settled},
		{"wait for a repeated event", nil, used("patch", "events.k8s.io", "events")},
		{"break the certificate", func() error {
			broken := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"tls.crt":"eA==","tls.key":"eA=="}}`))
			return admin.Patch(ctx, secret, broken)
		}, used("update", "", "secrets")},
		{"wait for the lease", nil, used("update", "coordination.k8s.io", "leases")},
		{"read the metrics", nil, func() (bool, error) {
			err := d.readMetrics(ctx, transport, metrics)
			return seen.used("create", "authorization.k8s.io", "subjectaccessreviews"), err
		}},
		{"delete the sample", func() error { return admin.Delete(ctx, sample) }, func() (bool, error) {
			return apierrors.IsNotFound(admin.Get(ctx, key, sample)), nil
		}},
	}
	for _, step := range steps {
		if step.do != nil {
			if err := step.do(); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
		}
		for {
			next := seen.next()
			done, err := step.until()
			if done {
				break
			}
			select {
			case <-next: // the operator keeps renewing its lease
			case <-ctx.Done():
				return fmt.Errorf("%s: %w: %w", step.name, ctx.Err(), err)
			}
		}
	}
	return nil
}

// readMetrics reads the metrics with a token of the service account.
func (d *deployed) readMetrics(ctx context.Context, transport http.RoundTripper, address string) error {
	issue, err := http.NewRequestWithContext(
		ctx, http.MethodPost, "http://in-memory"+d.token, strings.NewReader(`{"spec":{"expirationSeconds":600}}`),
	)
	if err != nil {
		return err
	}
	issue.Header.Set("Content-Type", "application/json")
	issued, err := transport.RoundTrip(issue)
	if err != nil {
		return err
	}
	defer issued.Body.Close()
	var answer struct{ Status struct{ Token string } }
	if err := json.NewDecoder(issued.Body).Decode(&answer); err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return err
	}
	ask.Header.Set("Authorization", "Bearer "+answer.Status.Token)
	anyone := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer anyone.CloseIdleConnections()
	read, err := anyone.RoundTrip(ask)
	if err == nil {
		read.Body.Close()
	}
	return err
}
