package authority_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// TestOnAServer checks that the API server can call a webhook at any time while its certificates change.
func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t)
	t.Run("RotationUnderLoad", func(t *testing.T) { testRotation(t, env.Config) })
	t.Run("ReplicasAgree", func(t *testing.T) { testReplicas(t, env.Config) })
	t.Run("Heals", func(t *testing.T) { testHeals(t, env.Config) })
	t.Run("ClockOff", func(t *testing.T) { testClockOff(t, env.Config) })
	t.Run("Refuses", func(t *testing.T) { testRefuses(t, env.Config) })
}

func connect(t *testing.T, config *rest.Config) *client.REST {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// replica is one process of an operator with a webhook for ConfigMaps.
type replica struct {
	authority *authority.Authority
	server    *server.Server
	stop      func()
}

// start starts a replica. name is the name of its Secret and of its webhook configuration.
func start(t *testing.T, live *client.REST, name string, lifetime time.Duration) *replica {
	t.Helper()
	target, err := authority.ParseTarget("validating/" + name)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	authority, err := authority.New(authority.Options{
		Client: live, Secret: object.Key{Namespace: "default", Name: name}, Targets: []authority.Target{target},
		Lifetime: lifetime, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{authority: authority}
	r.server = server.New(server.Options{Address: "127.0.0.1:0", Certificates: r.authority, Logger: logger})
	allow := admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response {
		return admission.Allowed("").WithWarnings("asked")
	})
	if err := r.server.Handle("/validate", admission.NewReviewer(allow, logger), server.MaxReview); err != nil {
		t.Fatal(err)
	}
	if err := r.server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.server.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func configuration(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1",
		Kind: "ValidatingWebhookConfiguration"})
	u.SetName(name)
	return u
}

// install makes the API server call a replica for ConfigMaps with a label that contains name. It does not set the
// trusted bundle.
func install(t *testing.T, live *client.REST, name string, r *replica) {
	t.Helper()
	u := configuration(name)
	u.Object["webhooks"] = []any{map[string]any{
		"name": "v.example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
		"clientConfig":   map[string]any{"url": "https://" + r.server.Addr().String() + "/validate"},
		"objectSelector": map[string]any{"matchLabels": map[string]any{"for": name}},
		"rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"configmaps"},
		}},
	}}
	if err := live.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Delete(context.Background(), u); err != nil {
			t.Error(err)
		}
	})
}

// ask sends a request for which the API server calls the webhook.
func ask(ctx context.Context, live *client.REST, name string) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	u.SetNamespace("default")
	u.SetGenerateName("asked-")
	u.SetLabels(map[string]string{"for": name})
	return live.Create(ctx, u, client.DryRunAll)
}

// await repeats do until it returns no error.
func await(t *testing.T, do func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := do()
		if err == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// asked counts the results of requests.
type asked struct {
	count   int64
	failed  error         // the first failure
	slowest time.Duration // from the previous tick to the answer
}

// load sends 50 requests a second until it is stopped.
func load(t *testing.T, live *client.REST, name string) (stop func() asked) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	var so asked
	all.Go(func() {
		ticks := time.NewTicker(time.Second / 50)
		defer ticks.Stop()
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			begun := last
			last = time.Now()
			all.Go(func() {
				err := ask(context.WithoutCancel(ctx), live, name)
				mu.Lock()
				defer mu.Unlock()
				so.count++
				so.slowest = max(so.slowest, time.Since(begun))
				if so.failed == nil {
					so.failed = err
				}
			})
		}
	})
	return func() asked {
		cancel()
		all.Wait()
		return so
	}
}

// shown returns the certificate that a replica serves.
func shown(t *testing.T, r *replica) *tls.Certificate {
	t.Helper()
	conn, err := tls.Dial("tcp", r.server.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return &tls.Certificate{Leaf: conn.ConnectionState().PeerCertificates[0]}
}

// trusted returns the bundle in the webhook configuration on the API server.
func trusted(t *testing.T, live *client.REST, name string) []byte {
	t.Helper()
	u := configuration(name)
	if err := live.Get(t.Context(), object.Key{Name: name}, u); err != nil {
		t.Fatal(err)
	}
	webhooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	text, _, _ := unstructured.NestedString(webhooks[0].(map[string]any), "clientConfig", "caBundle")
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// testRotation rotates certificates twice under load. An API server applies a changed configuration within the time in
// which both signers are trusted, a twelfth of the lifetime. If the machine stalls for a large part of that time, a
// failure proves nothing, so the test repeats with a longer lifetime.
func testRotation(t *testing.T, config *rest.Config) {
	live := connect(t, config)
	for lifetime := 24 * time.Second; ; lifetime *= 2 {
		slowest, err := rotate(t, live, fmt.Sprintf("rotation-%d", lifetime/time.Second), lifetime)
		switch {
		case err == nil:
			return
		case slowest < lifetime/48 || lifetime > 3*time.Minute:
			t.Fatalf("with certificates of %s, and answers within %s: %v", lifetime, slowest, err)
		}
		t.Logf("with certificates of %s, on a machine that took %s to answer: %v", lifetime, slowest, err)
	}
}

// rotate makes two replicas rotate their certificates twice. It returns the first failure and how long the slowest
// request took.
func rotate(t *testing.T, live *client.REST, name string, lifetime time.Duration) (slowest time.Duration, err error) {
	r, other := start(t, live, name, lifetime), start(t, live, name, lifetime)
	install(t, live, name, r)
	await(t, r.authority.Ready)
	await(t, func() error { return ask(t.Context(), live, name) })
	stop := load(t, live, name)
	shows := map[string]bool{}
	var late error
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for begun := time.Now(); len(shows) < 3 && late == nil; <-ticks.C {
		leaf := shown(t, r).Leaf
		shows[leaf.SerialNumber.String()] = true
		if rest := time.Until(leaf.NotAfter); rest < lifetime/3-time.Second { // NotAfter is in whole seconds
			late = fmt.Errorf("a certificate with %s of %s left is shown", rest, lifetime)
		} else if time.Since(begun) > 2*lifetime {
			late = fmt.Errorf("%d certificates were shown in %s", len(shows), time.Since(begun))
		}
	}
	so := stop()
	if so.failed != nil {
		so.failed = fmt.Errorf("one of %d requests failed: %w", so.count, so.failed)
	}
	if so.count < 100 {
		late = errors.Join(late, fmt.Errorf("there were only %d requests", so.count))
	}
	await(t, other.authority.Ready)
	return so.slowest, errors.Join(so.failed, late)
}

func testReplicas(t *testing.T, config *rest.Config) {
	live := connect(t, config)
	var replicas []*replica
	for range 3 {
		replicas = append(replicas, start(t, live, "replicas", 0))
	}
	install(t, live, "replicas", replicas[0])
	for _, r := range replicas {
		await(t, r.authority.Ready)
	}
	bundle := trusted(t, live, "replicas")
	if n := bytes.Count(bundle, []byte("BEGIN CERTIFICATE")); n != 1 {
		t.Errorf("the API server trusts %d authorities", n)
	}
	for _, r := range replicas {
		if err := authority.Accepts(bundle, shown(t, r).Leaf, time.Now()); err != nil {
			t.Error(err)
		}
	}
	await(t, func() error { return ask(t.Context(), live, "replicas") })
}

func secret(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func testHeals(t *testing.T, config *rest.Config) {
	live := connect(t, config)
	r := start(t, live, "heals", 0)
	install(t, live, "heals", r)
	await(t, r.authority.Ready)
	await(t, func() error { return ask(t.Context(), live, "heals") })
	bundle := trusted(t, live, "heals")
	stop := load(t, live, "heals")
	key := object.Key{Namespace: "default", Name: "heals"}
	whole := func() error {
		u := secret("heals")
		if err := live.Get(t.Context(), key, u); err != nil {
			return err
		}
		ca, _, _ := unstructured.NestedString(u.Object, "data", "ca.crt")
		if ca != base64.StdEncoding.EncodeToString(bundle) {
			return errors.New("the Secret has another authority")
		}
		for _, name := range []string{"ca.key", "tls.crt", "tls.key"} {
			if text, _, _ := unstructured.NestedString(u.Object, "data", name); len(text) < 100 {
				return fmt.Errorf("%s is %q", name, text)
			}
		}
		return nil
	}
	await(t, whole)
	for _, damage := range []string{
		`{"data":{"ca.key":"bm90IGEga2V5"}}`, `{"data":{"tls.crt":"AAAA","tls.key":"AAAA"}}`, `{"data":null}`,
		`{"data":{"ca.crt":null},"metadata":{"labels":null}}`,
	} {
		t.Log(damage)
		patch := []byte(damage)
		if damage == `{"data":null}` { // the Secret's type requires both entries
			patch = []byte(`{"data":{"ca.crt":null,"ca.key":null,"tls.crt":"","tls.key":""}}`)
		}
		if err := live.Patch(t.Context(), secret("heals"), client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
		await(t, whole)
	}
	if err := live.Delete(t.Context(), secret("heals")); err != nil {
		t.Fatal(err)
	}
	await(t, whole)
	if so := stop(); so.failed != nil {
		t.Errorf("one of %d requests failed: %v", so.count, so.failed)
	}
	// While the webhook configuration has no bundle, every request fails. The authority must restore the bundle.
	remove := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`))
	if err := live.Patch(t.Context(), configuration("heals"), remove); err != nil {
		t.Fatal(err)
	}
	await(t, func() error { return ask(t.Context(), live, "heals") })
}

// testClockOff starts with a Secret from a replica whose clock is ten minutes ahead, and with one whose clock is ten
// minutes behind.
func testClockOff(t *testing.T, config *rest.Config) {
	live := connect(t, config)
	for name, off := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			entries, err := authority.Entries(time.Now().Add(off), 365*24*time.Hour, "127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			data := map[string]any{}
			for name, value := range entries {
				data[name] = base64.StdEncoding.EncodeToString(value)
			}
			u := secret(name)
			u.Object["data"] = data
			if err := live.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			r := start(t, live, name, 0)
			install(t, live, name, r)
			await(t, r.authority.Ready)
			await(t, func() error { return ask(t.Context(), live, name) })
			if !bytes.Equal(trusted(t, live, name), entries["ca.crt"]) {
				t.Error("it was not taken")
			}
		})
	}
}

func testRefuses(t *testing.T, config *rest.Config) {
	live := connect(t, config)
	u := secret("refuses")
	u.Object["data"] = map[string]any{"password": "c2VjcmV0"}
	if err := live.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	r := start(t, live, "refuses", 0)
	await(t, func() error {
		const want = `ValidatingWebhookConfiguration.admissionregistration.k8s.io "refuses" not found`
		if err := r.authority.Ready(); err == nil || !bytes.Contains([]byte(err.Error()), []byte("refuses")) {
			return fmt.Errorf("ready says %v, want %s", err, want)
		}
		return nil
	})
	install(t, live, "refuses", r)
	await(t, func() error {
		const want = "secret default/refuses has something else than certificates of kctrl"
		if err := r.authority.Ready(); err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			return fmt.Errorf("ready says %v, want %s", err, want)
		}
		return nil
	})
	if err := live.Get(t.Context(), object.KeyOf(u), u); err != nil {
		t.Fatal(err)
	}
	if data, _, _ := unstructured.NestedMap(u.Object, "data"); len(data) != 1 {
		t.Errorf("the Secret has now %d entries", len(data))
	}
}
