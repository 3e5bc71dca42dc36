package porting

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/bench/porting/cronjob"
	"github.com/kctrl-dev/kctrl/bench/porting/grafana"
	"github.com/kctrl-dev/kctrl/bench/porting/jobset"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// TestPortsOnRealServer runs the three operators, each in its own namespace.
func TestPortsOnRealServer(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("cronjob/crd", "jobset/crd", "grafana/crd"))
	for name, test := range map[string]func(f *fixture){
		"cronjob-runs": cronJobRuns, "cronjob-policies": cronJobPolicies,
		"jobset-completes": jobSetCompletes, "jobset-restarts": jobSetRestarts, "jobset-suspends": jobSetSuspends,
		"grafana": dashboardsAreWritten,
	} {
		t.Run(name, func(t *testing.T) { test(newFixture(t, env.Config, name)) })
	}
}

type fixture struct {
	*testing.T
	ctx       context.Context
	config    *rest.Config
	scheme    *runtime.Scheme
	live      *client.REST
	namespace string
}

func newFixture(t *testing.T, config *rest.Config, namespace string) *fixture {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, batchv1.AddToScheme, cronjob.AddToScheme, jobset.AddToScheme, grafana.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	f := &fixture{T: t, ctx: ctx, config: config, scheme: scheme, live: live, namespace: namespace}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	return f
}

func (f *fixture) create(objects ...object.Object) {
	f.Helper()
	for _, o := range objects {
		if err := f.live.Create(f.ctx, o); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

// run runs an operator until the end of the test.
func (f *fixture) run(setup func(context.Context, controller.Manager) error) {
	f.Helper()
	m, err := manager.New(f.config, manager.Options{Scheme: f.scheme, Namespaces: []string{f.namespace},
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	if err := setup(f.ctx, m); err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
}

func await[T object.Object](f *fixture, o T, done func(T) bool) T {
	f.Helper()
	return testenv.Await(f.ctx, f.T, f.live, o, done)
}

// update changes an object like a user.
func update[T object.Object](f *fixture, o T, change func(T)) {
	f.Helper()
	base := o.DeepCopyObject().(T)
	change(o)
	if err := f.live.Patch(f.ctx, o, client.MergeFrom(base)); err != nil {
		f.Fatal(err)
	}
}

// end sets the conditions of an ended Job, like the Job controller.
func (f *fixture) end(name string, condition batchv1.JobConditionType) {
	f.Helper()
	job := await(f, &batchv1.Job{ObjectMeta: f.named(name)}, func(*batchv1.Job) bool { return true })
	now := metav1.Now()
	begins := batchv1.JobSuccessCriteriaMet
	if condition == batchv1.JobFailed {
		begins = batchv1.JobFailureTarget
	} else {
		job.Status.CompletionTime = &now
	}
	job.Status.StartTime = &now
	for _, kind := range []batchv1.JobConditionType{begins, condition} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue,
			LastTransitionTime: now})
	}
	if err := f.live.Status().Update(f.ctx, job); err != nil {
		f.Fatal(err)
	}
}

func template() batchv1.JobTemplateSpec {
	return batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "busybox"}},
	}}}}
}

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// tick sets the time to a number of minutes after start, and changes the CronJob to trigger a reconcile.
func (c *clock) tick(f *fixture, o *cronjob.CronJob, start time.Time, minutes int) {
	f.Helper()
	c.mu.Lock()
	c.now = start.Add(time.Duration(minutes)*time.Minute + time.Second)
	now := c.now
	c.mu.Unlock()
	update(f, o, func(o *cronjob.CronJob) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, "now", now.String()) })
}

func startCronJob(f *fixture, spec cronjob.CronJobSpec) (*cronjob.CronJob, *clock, time.Time, func(
	minutes int) string) {
	spec.Schedule, spec.JobTemplate = "* * * * *", template()
	o := &cronjob.CronJob{ObjectMeta: f.named("tick"), Spec: spec}
	f.create(o)
	start := o.CreationTimestamp.Truncate(time.Minute)
	c := &clock{now: o.CreationTimestamp.Time}
	f.run((&cronjob.Reconciler{Now: c.Now}).SetupWithManager)
	return o, c, start, func(minutes int) string {
		return fmt.Sprintf("tick-%d", start.Add(time.Duration(minutes)*time.Minute).Unix())
	}
}

func cronJobRuns(f *fixture) {
	one := int32(1)
	o, c, start, job := startCronJob(f, cronjob.CronJobSpec{SuccessfulJobsHistoryLimit: &one})
	for minute := 1; minute <= 3; minute++ {
		c.tick(f, o, start, minute)
		made := await(f, &batchv1.Job{ObjectMeta: f.named(job(minute))}, func(*batchv1.Job) bool { return true })
		if !metav1.IsControlledBy(made, o) {
			f.Errorf("the owners are %v", made.OwnerReferences)
		}
		await(f, o, func(o *cronjob.CronJob) bool {
			return len(o.Status.Active) == 1 && o.Status.Active[0].Name == made.Name
		})
		f.end(made.Name, batchv1.JobComplete)
		await(f, o, func(o *cronjob.CronJob) bool { return len(o.Status.Active) == 0 && o.Status.LastScheduleTime != nil })
	}
	testenv.AwaitGone(f.ctx, f.T, f.live, &batchv1.Job{ObjectMeta: f.named(job(1))})
	testenv.AwaitGone(f.ctx, f.T, f.live, &batchv1.Job{ObjectMeta: f.named(job(2))})
	if err := f.live.Get(f.ctx, object.Key{Namespace: f.namespace, Name: job(3)}, &batchv1.Job{}); err != nil {
		f.Error(err)
	}
	update(f, o, func(o *cronjob.CronJob) { o.Spec.Suspend = true })
	c.tick(f, o, start, 9)
	update(f, o, func(o *cronjob.CronJob) { o.Spec.Suspend = false })
	await(f, &batchv1.Job{ObjectMeta: f.named(job(9))},
		func(*batchv1.Job) bool { return true }) // only the last of the missed runs gets a Job
	var all batchv1.JobList
	if err := f.live.List(f.ctx, &all, client.InNamespace(f.namespace)); err != nil || len(all.Items) != 2 {
		f.Errorf("%d jobs, %v", len(all.Items), err)
	}
}

func cronJobPolicies(f *fixture) {
	o, c, start, job := startCronJob(f, cronjob.CronJobSpec{ConcurrencyPolicy: cronjob.Forbid})
	c.tick(f, o, start, 1)
	await(f, o, func(o *cronjob.CronJob) bool { return len(o.Status.Active) == 1 })
	c.tick(f, o, start, 2)
	f.end(job(1), batchv1.JobFailed) // Forbid allows the next Job only after this one has ended
	await(f, &batchv1.Job{ObjectMeta: f.named(job(2))}, func(*batchv1.Job) bool { return true })
	update(f, o, func(o *cronjob.CronJob) { o.Spec.ConcurrencyPolicy = cronjob.Replace })
	c.tick(f, o, start, 3)
	testenv.AwaitGone(f.ctx, f.T, f.live, &batchv1.Job{ObjectMeta: f.named(job(2))})
	await(f, &batchv1.Job{ObjectMeta: f.named(job(3))}, func(*batchv1.Job) bool { return true })
}

func newJobSet(f *fixture, restarts int32) (*jobset.JobSet, *events.FakeRecorder) {
	set := &jobset.JobSet{ObjectMeta: f.named("train"), Spec: jobset.JobSetSpec{MaxRestarts: restarts,
		ReplicatedJobs: []jobset.ReplicatedJob{
			{Name: "driver", Replicas: 1, Template: template()}, {Name: "worker", Replicas: 2, Template: template()},
		}}}
	recorder := events.NewFakeRecorder(100)
	f.run((&jobset.Reconciler{Recorder: recorder.Recorder}).SetupWithManager)
	return set, recorder
}

func isTrue(set *jobset.JobSet, condition string) bool {
	return meta.IsStatusConditionTrue(set.Status.Conditions, condition)
}

func jobSetCompletes(f *fixture) {
	set, recorder := newJobSet(f, 0)
	f.create(set)
	service := await(f, &corev1.Service{ObjectMeta: f.named("train")}, func(*corev1.Service) bool { return true })
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		f.Errorf("the service has the address %s", service.Spec.ClusterIP)
	}
	for _, name := range []string{"train-driver-0", "train-worker-0", "train-worker-1"} {
		await(f, set, func(set *jobset.JobSet) bool { return !isTrue(set, jobset.Completed) })
		f.end(name, batchv1.JobComplete)
	}
	done := await(f, set, func(set *jobset.JobSet) bool { return isTrue(set, jobset.Completed) })
	if got := done.Status.ReplicatedJobs; len(got) != 2 || got[0].Succeeded != 1 || got[1].Succeeded != 2 ||
		got[1].Active != 0 {
		f.Errorf("got %+v", got)
	}
	if got := (<-recorder.Events).String(); got != "Normal AllJobsCompleted 3 jobs have completed" {
		f.Error(got)
	}
}

func jobSetRestarts(f *fixture) {
	set, recorder := newJobSet(f, 1)
	f.create(set)
	first := await(f, &batchv1.Job{ObjectMeta: f.named("train-worker-1")}, func(*batchv1.Job) bool { return true })
	f.end(first.Name, batchv1.JobFailed)
	await(f, set, func(set *jobset.JobSet) bool { return set.Status.Restarts == 1 })
	again := await(f, &batchv1.Job{ObjectMeta: f.named("train-worker-1")},
		func(job *batchv1.Job) bool { return job.UID != first.UID })
	await(f, &batchv1.Job{ObjectMeta: f.named("train-driver-0")}, func(job *batchv1.Job) bool {
		return job.Labels["jobset.porting.kctrl.test/restart-attempt"] == "1"
	})
	f.end(again.Name, batchv1.JobFailed)
	await(f, set, func(set *jobset.JobSet) bool { return isTrue(set, jobset.Failed) })
	testenv.AwaitGone(f.ctx, f.T, f.live, &batchv1.Job{ObjectMeta: f.named("train-driver-0")})
	for _, want := range []string{"Warning Restarting job train-worker-1 has failed: restart 1",
		"Warning FailedJobs job train-worker-1 has failed"} {
		if got := (<-recorder.Events).String(); got != want {
			f.Errorf("got %s, want %s", got, want)
		}
	}
}

func jobSetSuspends(f *fixture) {
	set, _ := newJobSet(f, 0)
	set.Spec.Suspend = true
	f.create(set)
	await(f, set, func(set *jobset.JobSet) bool { return isTrue(set, jobset.Suspended) })
	await(f, &batchv1.Job{ObjectMeta: f.named("train-driver-0")}, func(job *batchv1.Job) bool { return *job.Spec.Suspend })
	update(f, set, func(set *jobset.JobSet) { set.Spec.Suspend = false })
	await(f, &batchv1.Job{ObjectMeta: f.named("train-driver-0")},
		func(job *batchv1.Job) bool { return !*job.Spec.Suspend })
	await(f, set, func(set *jobset.JobSet) bool {
		return meta.IsStatusConditionFalse(set.Status.Conditions, jobset.Suspended)
	})
}

// server is the HTTP API of a Grafana instance.
type server struct {
	mu         sync.Mutex
	dashboards map[string]string // titles by UID
	down       bool
	writes     int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if uid, ok := strings.CutPrefix(r.URL.Path, "/api/dashboards/uid/"); ok && r.Method == http.MethodDelete {
		delete(s.dashboards, uid)
		return
	}
	var body struct {
		Dashboard struct{ UID, Title string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/api/dashboards/db" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	s.writes++
	s.dashboards[body.Dashboard.UID] = body.Dashboard.Title
}

func (s *server) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *server) title(uid string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dashboards[uid]
}

func dashboardsAreWritten(f *fixture) {
	backend := &server{dashboards: map[string]string{}}
	at := httptest.NewServer(backend)
	f.Cleanup(at.Close)
	f.run((&grafana.Reconciler{HTTP: at.Client()}).SetupWithManager)
	dashboard := &grafana.Dashboard{ObjectMeta: f.named("cpu"), Spec: grafana.DashboardSpec{
		InstanceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
		JSON:             `{"uid": "cpu", "title": "one"}`,
	}}
	f.create(dashboard)
	has := func(kind string, status metav1.ConditionStatus, reason string) func(*grafana.Dashboard) bool {
		return func(d *grafana.Dashboard) bool {
			c := meta.FindStatusCondition(d.Status.Conditions, kind)
			return c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == d.Generation
		}
	}
	await(f, dashboard, has("NoMatchingInstance", metav1.ConditionTrue, "EmptyAPIReply"))
	instance := &grafana.Grafana{ObjectMeta: f.named("main"), Spec: grafana.GrafanaSpec{URL: at.URL}}
	instance.Labels = map[string]string{"team": "a"}
	f.create(instance)
	await(f, dashboard, has("Synchronized", metav1.ConditionTrue, "ApplySuccessful"))
	if got := backend.title("cpu"); got != "one" {
		f.Errorf("Grafana has %q", got)
	}

	backend.set(true)
	update(f, dashboard, func(d *grafana.Dashboard) { d.Spec.JSON = `{"uid": "cpu", "title": "two"}` })
	await(f, dashboard, has("Synchronized", metav1.ConditionFalse, "ApplyFailed"))
	backend.set(false)
	await(f, dashboard, has("Synchronized", metav1.ConditionTrue, "ApplySuccessful"))
	if got := backend.title("cpu"); got != "two" {
		f.Errorf("Grafana has %q", got)
	}

	update(f, dashboard, func(d *grafana.Dashboard) { d.Spec.JSON = "{" })
	await(f, dashboard, has("Synchronized", metav1.ConditionFalse, "InvalidContent"))
	cm := &corev1.ConfigMap{ObjectMeta: f.named("content"),
		Data: map[string]string{"json": `{"uid": "cpu", "title": "three"}`}}
	f.create(cm)
	update(f, dashboard, func(d *grafana.Dashboard) {
		d.Spec.JSON, d.Spec.ConfigMapRef = "", &grafana.ConfigMapKey{Name: "content", Key: "json"}
	})
	written := await(f, dashboard, has("Synchronized", metav1.ConditionTrue, "ApplySuccessful"))
	if got := backend.title("cpu"); got != "three" {
		f.Errorf("Grafana has %q", got)
	}
	update(f, cm, func(cm *corev1.ConfigMap) { cm.Data["json"] = `{"uid": "cpu", "title": "four"}` })
	await(f, dashboard, func(d *grafana.Dashboard) bool { return d.Status.Hash != written.Status.Hash })
	if got := backend.title("cpu"); got != "four" {
		f.Errorf("Grafana has %q", got)
	}

	if err := f.live.Delete(f.ctx, dashboard); err != nil {
		f.Fatal(err)
	}
	testenv.AwaitGone(f.ctx, f.T, f.live, dashboard)
	if got := backend.title("cpu"); got != "" {
		f.Errorf("Grafana still has %q", got)
	}
}
