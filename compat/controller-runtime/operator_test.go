package controllerruntime_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// environment is the server of all tests of the package.
var environment struct {
	*rest.Config
	hooks envtest.WebhookInstallOptions
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path, policy, none := "/validate--v1-configmap", admissionv1.Fail, admissionv1.SideEffectClassNone
	env := &envtest.Environment{WebhookInstallOptions: envtest.WebhookInstallOptions{
		ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "operator"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "configmaps.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none, FailurePolicy: &policy,
				ClientConfig:   admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: &path}},
				ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"validated": "true"}},
				Rules: []admissionv1.RuleWithOperations{{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule: admissionv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
					},
				}},
			}},
		}},
	}}
	config, err := env.Start()
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := env.Stop(); err != nil {
			panic(err)
		}
	}()
	environment.Config, environment.hooks = config, env.WebhookInstallOptions
	return m.Run()
}

// lines are the log lines of a program, as JSON.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger { return l.verbose(0) }

// verbose returns a logger that writes lines up to a level.
func (l *lines) verbose(level int) logr.Logger {
	return funcr.NewJSON(func(line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, line)
	}, funcr.Options{Verbosity: level})
}

// with returns the first decoded line with a message.
func (l *lines) with(msg string) map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		var decoded map[string]any
		if json.Unmarshal([]byte(line), &decoded) == nil && decoded["msg"] == msg {
			return decoded
		}
	}
	return nil
}

// start runs a manager until the test ends.
func start(t *testing.T, options ctrl.Options, setup func(ctrl.Manager)) ctrl.Manager {
	t.Helper()
	if options.Metrics.BindAddress == "" {
		options.Metrics.BindAddress = "0"
	}
	mgr, err := ctrl.NewManager(environment.Config, options)
	if err != nil {
		t.Fatal(err)
	}
	setup(mgr)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	select {
	case <-mgr.Elected():
	case err := <-ended:
		t.Fatalf("the manager ended: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("the manager does not lead")
	}
	return mgr
}

// await waits until f returns nil.
func await(t *testing.T, f func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// copier writes a Secret for each ConfigMap with a label.
type copier struct {
	client.Client
	ids chan types.UID
}

func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	logger := log.FromContext(ctx)
	select {
	case c.ids <- controller.ReconcileIDFromContext(ctx):
	default:
	}
	var from corev1.ConfigMap
	if err := c.Get(ctx, req.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if from.Labels["copied"] == "" {
		return ctrl.Result{}, nil
	}
	if from.Data["fail"] != "" {
		return ctrl.Result{}, errors.New("failure requested")
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, c.Client, secret, func() error {
		secret.StringData = nil
		secret.Data = map[string][]byte{}
		for name, value := range from.Data {
			secret.Data[name] = []byte(value)
		}
		return controllerutil.SetControllerReference(&from, secret, c.Scheme())
	})
	logger.Info("copied", "result", result)
	return ctrl.Result{}, err
}

func TestOperatorReconcilesOwnedObjects(t *testing.T) {
	var out lines
	reconciler := &copier{ids: make(chan types.UID, 1)}
	mgr := start(t, ctrl.Options{Logger: out.logger(), Metrics: metricsserver.Options{BindAddress: "127.0.0.1:18099"}},
		func(mgr ctrl.Manager) {
			reconciler.Client = mgr.GetClient()
			err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(reconciler)
			if err != nil {
				t.Fatal(err)
			}
		})
	ctx, c := t.Context(), mgr.GetClient()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", Labels: map[string]string{"copied": "true"}},
		Data:       map[string]string{"key": "value"},
	}
	if err := c.Create(ctx, object); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	copied := func(value string) func() error {
		return func() error {
			if err := mgr.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(object), secret); err != nil {
				return err
			}
			if string(secret.Data["key"]) != value {
				return errors.New("the secret is not a copy")
			}
			return nil
		}
	}
	await(t, copied("value"))
	secret.Data["key"] = []byte("other")
	if err := c.Update(ctx, secret); err != nil {
		t.Fatal(err)
	}
	await(t, copied("value"))
	if id := <-reconciler.ids; id == "" {
		t.Error("the context of a reconcile has no ID")
	}
	object.Data = map[string]string{"fail": "yes"}
	if err := c.Update(ctx, object); err != nil {
		t.Fatal(err)
	}
	await(t, func() error {
		if out.with("Reconciler error") == nil {
			return errors.New("no line about the error")
		}
		return nil
	})
	for _, msg := range []string{"Starting EventSource", "Starting Controller", "Starting workers", "copied"} {
		line := out.with(msg)
		if line == nil || line["controller"] != "configmap" || line["controllerKind"] != "ConfigMap" {
			t.Errorf("line %q: %v", msg, line)
		}
	}
	if line := out.with("copied"); line["name"] != "owner" || line["namespace"] != "default" || line["reconcileID"] == "" {
		t.Errorf("the line of a reconcile: %v", line)
	}
	text := metricsAt(t, "http://127.0.0.1:18099/metrics")
	for _, metric := range []string{
		`controller_runtime_reconcile_total{controller="configmap",result="success"}`,
		`controller_runtime_reconcile_errors_total{controller="configmap"}`,
		`controller_runtime_max_concurrent_reconciles{controller="configmap"} 1`,
		`workqueue_depth{name="configmap",controller="configmap"`, `rest_client_requests_total{code="200"`, `go_goroutines`,
	} {
		if !strings.Contains(text, metric) {
			t.Errorf("no metric %s", metric)
		}
	}
}

func metricsAt(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGetOfUnwatchedKindStartsInformer reads through the client of a manager without controllers.
func TestGetOfUnwatchedKindStartsInformer(t *testing.T) {
	mgr := start(t, ctrl.Options{}, func(ctrl.Manager) {})
	ctx, c := t.Context(), mgr.GetClient()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "unwatched"}}
	if err := c.Create(ctx, account); err != nil {
		t.Fatal(err)
	}
	var read corev1.ServiceAccount
	if err := c.Get(ctx, client.ObjectKeyFromObject(account), &read); err != nil {
		t.Fatal(err)
	}
	if read.APIVersion != "v1" || read.Kind != "ServiceAccount" {
		t.Errorf("a cached object has kind %s", read.GroupVersionKind())
	}
	informer, err := mgr.GetCache().GetInformer(ctx, &corev1.ServiceAccount{})
	if err != nil {
		t.Fatal(err)
	}
	if !informer.HasSynced() {
		t.Error("the read has not started the informer")
	}
	var live corev1.ServiceAccount
	if err := mgr.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(account), &live); err != nil {
		t.Fatal(err)
	}
	if live.Kind != "" {
		t.Errorf("an object that is read live has kind %s", live.GroupVersionKind())
	}
	if err := c.Delete(ctx, account); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(account), &read); !apierrors.IsNotFound(err) {
		t.Errorf("a read after a delete: %v", err)
	}
}

type rejecting struct{}

func (rejecting) ValidateCreate(_ context.Context, c *corev1.ConfigMap) (admission.Warnings, error) {
	if c.Data["valid"] == "" {
		return admission.Warnings{"look out"}, errors.New("it is not valid")
	}
	return nil, nil
}

func (rejecting) ValidateUpdate(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}

func (rejecting) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}

// labeling defaults objects of any kind.
type labeling[T client.Object] struct{}

func (labeling[T]) Default(_ context.Context, obj T) error {
	obj.SetLabels(map[string]string{"defaulted": "true"})
	return nil
}

func TestWebhooksOfTheManagerAreCalled(t *testing.T) {
	hooks := environment.hooks
	mgr := start(t, ctrl.Options{WebhookServer: webhook.NewServer(webhook.Options{
		Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
	})}, func(mgr ctrl.Manager) {
		if err := ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithValidator(rejecting{}).Complete(); err != nil {
			t.Fatal(err)
		}
		pods := ctrl.NewWebhookManagedBy(mgr, &corev1.Pod{}).WithDefaulter(labeling[*corev1.Pod]{})
		if err := pods.WithCustomPath("/pods").Complete(); err != nil {
			t.Fatal(err)
		}
		both := ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithValidator(rejecting{})
		if both.WithDefaulter(labeling[*corev1.ConfigMap]{}).WithCustomPath("/both").Complete() == nil {
			t.Error("two webhooks have one path")
		}
		for path, want := range map[string]string{"/pods": "/pods", "/both": "", "/mutate--v1-pod": ""} {
			mux := mgr.GetWebhookServer().WebhookMux()
			if _, got := mux.Handler(httptest.NewRequest(http.MethodPost, path, nil)); got != want {
				t.Errorf("%s: pattern %q, want %q", path, got, want)
			}
		}
	})
	await(t, func() error { return mgr.GetWebhookServer().StartedChecker()(nil) })
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "validated", Labels: map[string]string{"validated": "true"},
	}}
	err := mgr.GetClient().Create(t.Context(), object)
	if err == nil || !strings.Contains(err.Error(), "it is not valid") || !apierrors.IsForbidden(err) {
		t.Errorf("an invalid object: %v", err)
	}
	object.Data = map[string]string{"valid": "yes"}
	if err := mgr.GetClient().Create(t.Context(), object); err != nil {
		t.Errorf("a valid object: %v", err)
	}
}

// TestPanicsOfWebhooksAreLogged calls a webhook that panics.
func TestPanicsOfWebhooksAreLogged(t *testing.T) {
	var out lines
	breaks := func(context.Context, admission.Request) admission.Response { panic("it breaks") }
	hook := &admission.Webhook{
		Handler:        admission.HandlerFunc(breaks),
		LogConstructor: func(logr.Logger, *admission.Request) logr.Logger { return out.logger() },
	}
	response := hook.Handle(t.Context(), admission.Request{})
	if response.Allowed || response.Result.Message != "panic: it breaks [recovered]" {
		t.Errorf("response: %+v", response.Result)
	}
	if line := out.with("Observed a panic"); line["panic"] != "it breaks" {
		t.Errorf("line of the panic: %v", line)
	}
}

func TestLeadershipIsElected(t *testing.T) {
	var led sync.WaitGroup
	led.Add(1)
	start(t, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "operator", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true, Scheme: scheme.Scheme,
	}, func(mgr ctrl.Manager) {
		err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			led.Done()
			<-ctx.Done()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	})
	led.Wait()
}

// TestManagerFailsIfControllerCannotSync adds a controller of a kind that the server does not have.
func TestManagerFailsIfControllerCannotSync(t *testing.T) {
	mgr, err := ctrl.NewManager(environment.Config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	absent := &metav1.PartialObjectMetadata{}
	absent.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Absent"))
	err = ctrl.NewControllerManagedBy(mgr).For(absent).WithOptions(controller.Options{CacheSyncTimeout: time.Second}).
		Complete(&copier{Client: mgr.GetClient()})
	if err != nil {
		t.Fatal(err)
	}
	err = mgr.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "timed out waiting for cache to be synced for kind source") {
		t.Errorf("the manager ended with %v", err)
	}
}

// TestElectedManagerServesMetrics reads the metrics at once when the manager reports that it was elected.
func TestElectedManagerServesMetrics(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	for range 20 {
		mgr, err := ctrl.NewManager(environment.Config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: address}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := mgr.Start(ctx); err != nil {
				t.Error(err)
			}
		})
		<-mgr.Elected()
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			t.Error(err)
		} else {
			response.Body.Close()
		}
		cancel()
		running.Wait()
	}
}
