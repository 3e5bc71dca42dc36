package fakecontrollers_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// stage is an in-memory server with fake controllers in a bubble.
type stage struct {
	*testing.T
	*client.REST
}

func newClient(t testing.TB, env *testenv.Env) *client.REST {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme,
		discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(s *stage), more ...fakecontrollers.Controller) {
	t.Helper()
	t.Setenv(testenv.ServerVariable, "")
	synctest.Test(t, func(t *testing.T) {
		env := inmemory.Start(t)
		fakecontrollers.Start(t, env.Config, append(fakecontrollers.All(), more...)...)
		s := &stage{t, newClient(t, env)}
		s.settle()
		test(s)
	})
}

// settle waits until all goroutines are blocked.
func (s *stage) settle() { s.pass(time.Second) }

// pass advances the time and then waits until all goroutines are blocked.
func (s *stage) pass(d time.Duration) {
	time.Sleep(d) // virtual time
	synctest.Wait()
}

func (s *stage) create(all ...object.Object) {
	s.Helper()
	for _, o := range all {
		if o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
		if err := s.REST.Create(s.Context(), o); err != nil {
			s.Fatal(err)
		}
	}
	s.settle()
}

// now reads the current state of o from the server.
func (s *stage) now(o object.Object) {
	s.Helper()
	if err := s.Get(s.Context(), object.KeyOf(o), o); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) pods() (all []corev1.Pod) {
	s.Helper()
	var list corev1.PodList
	if err := s.List(s.Context(), &list, client.InNamespace("default")); err != nil {
		s.Fatal(err)
	}
	return list.Items
}

func (s *stage) gone(o object.Object) {
	s.Helper()
	if err := s.Get(s.Context(), object.KeyOf(o), o); !apierrors.IsNotFound(err) {
		s.Errorf("%T %s is there still: %v", o, o.GetName(), err)
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}}
}

// template returns a template of pods that always restart, unless policy is set.
func template(name string, policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{RestartPolicy: policy,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/one",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
	}
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: &replicas,
		Selector: selector(name), Template: template(name, "")}}
}

func job(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{Template: template(name, corev1.RestartPolicyNever)}}
}

func pod(name string, policy corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta(name), Spec: template(name, policy).Spec}
}

func text(o any) string {
	if o, ok := o.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	content, _ := json.MarshalIndent(o, "", " ")
	return string(content)
}

func TestOutcomesOfPods(t *testing.T) {
	outcomes := map[string]fakecontrollers.Outcome{
		"late":     {After: time.Minute},
		"unready":  {NotReady: true},
		"pending":  {Phase: corev1.PodPending, Reason: "ImagePullBackOff", Message: "no such image"},
		"fails":    {Phase: corev1.PodFailed, ExitCode: 3, Reason: "OOMKilled"},
		"crashes":  {Phase: corev1.PodFailed},
		"succeeds": {After: time.Hour},
	}
	inBubble(t, func(s *stage) {
		for name := range outcomes {
			policy := corev1.RestartPolicyAlways
			if name == "fails" || name == "succeeds" {
				policy = corev1.RestartPolicyNever
			}
			s.create(pod(name, policy))
		}
		check := func(name string, want corev1.PodPhase, ready bool, container func(corev1.ContainerStatus) bool) {
			s.Helper()
			p := pod(name, "")
			s.now(p)
			isReady := false
			for _, c := range p.Status.Conditions {
				isReady = isReady || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}
			if p.Status.Phase != want || isReady != ready || p.Spec.NodeName != "node" || len(p.Status.ContainerStatuses) != 1 ||
				!container(p.Status.ContainerStatuses[0]) {
				s.Errorf("%s: %s", name, text(p))
			}
		}
		runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
		crashed := func(times int32) func(corev1.ContainerStatus) bool {
			return func(c corev1.ContainerStatus) bool {
				return c.RestartCount == times && c.State.Waiting.Reason == "CrashLoopBackOff" &&
					c.LastTerminationState.Terminated.ExitCode == 1
			}
		}
		check("late", corev1.PodRunning, false, runs)
		check("unready", corev1.PodRunning, false, runs)
		check("pending", corev1.PodPending, false, func(c corev1.ContainerStatus) bool {
			return c.State.Waiting.Reason == "ImagePullBackOff" && c.State.Waiting.Message != ""
		})
		check("fails", corev1.PodFailed, false, func(c corev1.ContainerStatus) bool {
			return c.State.Terminated.ExitCode == 3 && c.State.Terminated.Reason == "OOMKilled"
		})
		check("crashes", corev1.PodRunning, false, crashed(1))
		check("succeeds", corev1.PodRunning, false, runs)
		s.pass(time.Minute)
		check("late", corev1.PodRunning, true, runs)
		check("crashes", corev1.PodRunning, false, crashed(3)) // after further 10 and 20 seconds
		s.pass(time.Hour)
		check("succeeds", corev1.PodSucceeded, false,
			func(c corev1.ContainerStatus) bool { return c.State.Terminated.ExitCode == 0 })
		check("unready", corev1.PodRunning, false, runs)
	}, fakecontrollers.Pods(func(pod *corev1.Pod) fakecontrollers.Outcome { return outcomes[pod.Name] }))
}

func TestPodWaitsForNode(t *testing.T) {
	inBubble(t, func(s *stage) {
		p := pod("choosy", "")
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		s.create(p)
		s.now(p)
		if p.Status.Phase != corev1.PodPending || p.Status.Conditions[0].Reason != corev1.PodReasonUnschedulable {
			s.Errorf("got %s", text(p.Status))
		}
		s.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fast", Labels: map[string]string{"disk": "ssd"}}})
		s.now(p)
		if p.Spec.NodeName != "fast" || p.Status.Phase != corev1.PodRunning {
			s.Errorf("got %s", text(p))
		}
	})
}

func TestDeploymentFollowsItsPods(t *testing.T) {
	inBubble(t, func(s *stage) {
		d := deployment("web", 3)
		s.create(d)
		s.now(d)
		if d.Status.AvailableReplicas != 3 || d.Status.ObservedGeneration != d.Generation || len(s.pods()) != 3 {
			s.Errorf("got %s", text(d.Status))
		}
		d.Spec.Template.Spec.Containers[0].Image = "example.com/broken"
		if err := s.Update(s.Context(), d); err != nil {
			s.Fatal(err)
		}
		s.pass(11 * time.Minute)
		s.now(d)
		reason := ""
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing {
				reason = c.Reason
			}
		}
		if d.Status.AvailableReplicas != 3 || d.Status.UpdatedReplicas != 1 || reason != "ProgressDeadlineExceeded" {
			s.Errorf("a rollout that is stuck: %s", text(d.Status))
		}
		if err := s.Delete(s.Context(), d); err != nil {
			s.Fatal(err)
		}
		s.settle()
		if left := s.pods(); len(left) > 0 {
			s.Errorf("%d pods are left", len(left))
		}
	}, fakecontrollers.Pods(func(pod *corev1.Pod) fakecontrollers.Outcome {
		return fakecontrollers.Outcome{NotReady: strings.HasSuffix(pod.Spec.Containers[0].Image, "broken")}
	}))
}

// TestCronJobCreatesJobsOnSchedule uses the time of the bubble, which starts at the beginning of 2000.
func TestCronJobCreatesJobsOnSchedule(t *testing.T) {
	inBubble(t, func(s *stage) {
		cron := &batchv1.CronJob{ObjectMeta: meta("regular"), Spec: batchv1.CronJobSpec{
			Schedule: "*/30 * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: job("regular").Spec},
		}}
		s.create(cron)
		s.pass(2 * time.Hour)
		s.now(cron)
		want := time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)
		if at := cron.Status.LastScheduleTime; at == nil || !at.Time.Equal(want) || cron.Status.LastSuccessfulTime == nil ||
			len(cron.Status.Active) > 0 {
			s.Errorf("got %s", text(cron.Status))
		}
		var jobs batchv1.JobList
		if err := s.List(s.Context(), &jobs); err != nil || len(jobs.Items) != 3 { // limited by the history limit
			s.Errorf("got %d jobs, %v", len(jobs.Items), err)
		}
		for _, j := range jobs.Items {
			if j.Status.Succeeded != 1 || j.Annotations[batchv1.CronJobScheduledTimestampAnnotation] == "" {
				s.Errorf("got %s", text(j))
			}
		}
		if pods := s.pods(); len(pods) != 3 {
			s.Errorf("got %d pods", len(pods))
		}
	})
}

func TestJobs(t *testing.T) {
	outcome := fakecontrollers.Pods(func(pod *corev1.Pod) fakecontrollers.Outcome {
		if pod.Labels["app"] == "bad" {
			return fakecontrollers.Outcome{Phase: corev1.PodFailed, After: time.Second}
		}
		return fakecontrollers.Outcome{After: time.Minute}
	})
	inBubble(t, func(s *stage) {
		good, bad, many, slow := job("good"), job("bad"), job("many"), job("slow")
		good.Spec.TTLSecondsAfterFinished = new(int32)
		*good.Spec.TTLSecondsAfterFinished = 3600
		bad.Spec.BackoffLimit = new(int32)
		*bad.Spec.BackoffLimit = 2
		mode, five, two := batchv1.IndexedCompletion, int32(5), int32(2)
		many.Spec.CompletionMode, many.Spec.Completions, many.Spec.Parallelism = &mode, &five, &two
		deadline := int64(30)
		slow.Spec.ActiveDeadlineSeconds = &deadline
		s.create(good, bad, many, slow)
		s.pass(10 * time.Minute)
		ends := func(j *batchv1.Job, kind batchv1.JobConditionType, reason string, succeeded, failed int32) {
			s.Helper()
			s.now(j)
			last := batchv1.JobCondition{}
			if n := len(j.Status.Conditions); n > 0 {
				last = j.Status.Conditions[n-1]
			}
			if last.Type != kind || last.Reason != reason || j.Status.Succeeded != succeeded || j.Status.Failed != failed ||
				j.Status.Active != 0 {
				s.Errorf("%s: %s", j.Name, text(j.Status))
			}
		}
		ends(good, batchv1.JobComplete, "CompletionsReached", 1, 0)
		ends(bad, batchv1.JobFailed, "BackoffLimitExceeded", 0, 3)
		ends(many, batchv1.JobComplete, "CompletionsReached", 5, 0)
		ends(slow, batchv1.JobFailed, "DeadlineExceeded", 0, 1)
		if many.Status.CompletedIndexes != "0-4" {
			s.Errorf("got %s", text(many.Status))
		}
		for _, p := range s.pods() {
			if len(p.Finalizers) > 0 {
				s.Errorf("pod %s has finalizers: %q", p.Name, p.Finalizers)
			}
		}
		s.pass(time.Hour)
		s.gone(good)
	}, outcome)
}

var oneGiB = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}

func TestClaimsAreBound(t *testing.T) {
	inBubble(t, func(s *stage) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: oneGiB},
		}}
		user := pod("user", "")
		source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}
		user.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}}}
		s.create(claim, user)
		s.now(claim)
		if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" ||
			claim.Status.Capacity.Storage().String() != "1Gi" {
			s.Fatalf("got %s", text(claim))
		}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
		s.now(volume)
		if volume.Status.Phase != corev1.VolumeBound {
			s.Errorf("got %s", text(volume))
		}
		for _, o := range []object.Object{claim, user} {
			if err := s.Delete(s.Context(), o); err != nil {
				s.Fatal(err)
			}
			if s.settle(); o == claim {
				s.now(claim) // a pod uses the claim
			}
		}
		s.gone(claim)
		s.gone(volume)
	})
}

func TestClaimWaitsForItsVolume(t *testing.T) {
	inBubble(t, func(s *stage) {
		class, modes := "", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: oneGiB}, StorageClassName: &class,
			VolumeName: "one",
		}}
		s.create(claim)
		s.now(claim)
		if claim.Status.Phase != corev1.ClaimPending {
			s.Fatalf("got %s", text(claim))
		}
		s.create(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: modes, Capacity: oneGiB, PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/volumes/one"},
			},
		}})
		if s.now(claim); claim.Status.Phase != corev1.ClaimBound {
			s.Errorf("got %s", text(claim))
		}
	})
}

func TestServicesHaveEndpoints(t *testing.T) {
	inBubble(t, func(s *stage) {
		service := &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
		}}
		s.create(service, deployment("web", 101)) // a slice has at most 100 addresses
		s.now(service)
		if in := service.Status.LoadBalancer.Ingress; len(in) != 1 || in[0].IP == "" {
			s.Errorf("got %s", text(service.Status))
		}
		slices := func() (n, ready int) {
			var all discoveryv1.EndpointSliceList
			if err := s.List(s.Context(), &all, client.InNamespace("default"),
				client.MatchingLabels{discoveryv1.LabelServiceName: "web"}); err != nil {
				s.Fatal(err)
			}
			for _, slice := range all.Items {
				for _, e := range slice.Endpoints {
					if *e.Conditions.Ready && *slice.Ports[0].Port == 8080 {
						ready++
					}
				}
			}
			return len(all.Items), ready
		}
		if n, ready := slices(); n != 2 || ready != 101 {
			s.Errorf("got %d slices with %d addresses", n, ready)
		}
		addresses := map[string]bool{}
		for _, p := range s.pods() {
			addresses[p.Status.PodIP] = true
		}
		if len(addresses) != 101 {
			s.Errorf("101 pods have %d addresses", len(addresses))
		}
		if err := s.Delete(s.Context(), deployment("web", 0)); err != nil {
			s.Fatal(err)
		}
		s.settle()
		if n, ready := slices(); n != 1 || ready != 0 {
			s.Errorf("got %d slices with %d addresses", n, ready)
		}
	})
}

func TestNamespaceIsDeletedWhenEmpty(t *testing.T) {
	inBubble(t, func(s *stage) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}}
		if err := s.REST.Create(s.Context(), namespace); err != nil {
			s.Fatal(err)
		}
		s.settle()
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "default"}}
		s.now(account)
		s.now(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "kube-root-ca.crt"}})
		if err := s.Delete(s.Context(), account); err != nil {
			s.Fatal(err)
		}
		s.settle()
		s.now(account) // the controller has recreated the account
		d, held := deployment("web", 2), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "held",
			Finalizers: []string{"example.com/hold"}}}
		d.Namespace = "going"
		s.create(d, held)
		if err := s.Delete(s.Context(), namespace); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		s.now(namespace)
		said := text(namespace.Status.Conditions)
		for _, want := range []string{"Some content in the namespace has finalizers remaining: example.com/hold in 1 " +
			"resource instances", "Some resources are remaining: configmaps. has 1 resource instances"} {
			if !strings.Contains(said, want) {
				s.Errorf("got %s, want %s", said, want)
			}
		}
		s.now(held)
		controllerutil.RemoveFinalizer(held, "example.com/hold")
		if err := s.Update(s.Context(), held); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		s.gone(namespace)
	})
}

func TestNamespaceDeletesPodsFirst(t *testing.T) {
	inBubble(t, func(s *stage) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}}
		if err := s.REST.Create(s.Context(), namespace); err != nil {
			s.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "held",
			Finalizers: []string{"example.com/hold"}}, Spec: template("held", corev1.RestartPolicyNever).Spec}
		used := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "used"}}
		s.create(pod, used)
		if err := s.Delete(s.Context(), namespace); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		s.now(used)
		s.now(pod)
		controllerutil.RemoveFinalizer(pod, "example.com/hold")
		if err := s.Update(s.Context(), pod); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		s.gone(used)
		s.gone(namespace)
	})
}

func TestReplicationControllerKeepsItsPods(t *testing.T) {
	inBubble(t, func(s *stage) {
		pods := template("web", corev1.RestartPolicyAlways)
		rc := &corev1.ReplicationController{ObjectMeta: meta("web"),
			Spec: corev1.ReplicationControllerSpec{Replicas: new(int32(2)), Template: &pods}}
		s.create(rc)
		s.pass(time.Minute)
		s.now(rc)
		if got := rc.Status; got.Replicas != 2 || got.ReadyReplicas != 2 || got.AvailableReplicas != 2 ||
			got.FullyLabeledReplicas != 2 {
			s.Errorf("got %+v", got)
		}
		rc.Spec.Replicas = new(int32(1))
		if err := s.Update(s.Context(), rc); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		if pods := s.pods(); len(pods) != 1 || metav1.GetControllerOf(&pods[0]).Kind != "ReplicationController" {
			s.Errorf("got %v", pods)
		}
	})
}

func TestStatefulSetKeepsItsOrder(t *testing.T) {
	inBubble(t, func(s *stage) {
		three := int32(3)
		set := &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{
			Replicas: &three, ServiceName: "db", Selector: selector("db"), Template: template("db", ""),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: oneGiB},
				}}},
		}}
		s.create(set)
		if n := len(s.pods()); n != 1 {
			s.Errorf("got %d pods before the first was ready", n)
		}
		s.pass(time.Minute)
		s.now(set)
		if set.Status.ReadyReplicas != 3 || set.Status.CurrentRevision != set.Status.UpdateRevision {
			s.Errorf("got %s", text(set.Status))
		}
		before := set.Status.CurrentRevision
		set.Spec.Template.Spec.Containers[0].Image = "example.com/two"
		if err := s.Update(s.Context(), set); err != nil {
			s.Fatal(err)
		}
		s.pass(5 * time.Second)
		s.now(set)
		if set.Status.UpdatedReplicas != 1 || set.Status.CurrentRevision != before {
			s.Errorf("in an update: %s", text(set.Status))
		}
		s.pass(time.Minute)
		s.now(set)
		if set.Status.ReadyReplicas != 3 || set.Status.UpdatedReplicas != 3 || set.Status.CurrentRevision == before {
			s.Errorf("after an update: %s", text(set.Status))
		}
		for _, p := range s.pods() {
			if p.Spec.Hostname != p.Name || p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-"+p.Name {
				s.Errorf("got %s", text(p))
			}
		}
	},
		fakecontrollers.Pods(func(*corev1.Pod) fakecontrollers.Outcome {
			return fakecontrollers.Outcome{After: 10 * time.Second}
		}))
}

func TestDaemonSetHasPodOnEachNode(t *testing.T) {
	inBubble(t, func(s *stage) {
		set := &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector("agent"),
			Template: template("agent", "")}}
		tainted := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "only", Value: "mine", Effect: corev1.TaintEffectNoSchedule}}}}
		s.create(set, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, tainted)
		s.now(set)
		if set.Status.DesiredNumberScheduled != 2 || set.Status.NumberReady != 2 || set.Status.NumberAvailable != 2 {
			s.Errorf("got %s", text(set.Status))
		}
		set.Spec.Template.Spec.Containers[0].Image = "example.com/two"
		if err := s.Update(s.Context(), set); err != nil {
			s.Fatal(err)
		}
		s.settle()
		s.now(set)
		if set.Status.UpdatedNumberScheduled != 2 || set.Status.NumberReady != 2 || len(s.pods()) != 2 {
			s.Errorf("after an update: %s", text(set.Status))
		}
	})
}

// TestLastControllerOfANameRuns checks that the last of several controllers with the same name replaces the others.
func TestLastControllerOfANameRuns(t *testing.T) {
	mine := fakecontrollers.Controller{Name: "deployment-controller", Add: func(m *manager.Manager) error {
		return controller.For[*appsv1.Deployment](m).Complete(reconcile.Func[reconcile.Request](func(ctx context.Context,
			r reconcile.Request) (reconcile.Result, error) {
			d := &appsv1.Deployment{}
			if err := m.Client().Get(ctx, r.NamespacedName, d); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			d.Status.ObservedGeneration = 42
			return reconcile.Result{}, m.Client().Status().Update(ctx, d)
		}))
	}}
	inBubble(t, func(s *stage) {
		d := deployment("web", 1)
		s.create(d)
		s.now(d)
		if d.Status.ObservedGeneration != 42 || len(s.pods()) > 0 {
			s.Errorf("got %s", text(d.Status))
		}
	}, mine)
}

func TestInvalidControllersAreErrors(t *testing.T) {
	env := inmemory.Start(t)
	for want, p := range map[string]fakecontrollers.Controller{
		"fake controller 1 of 1: it needs a name, and Add": {Name: "a"},
		"fake controller a: no": {Name: "a",
			Add: func(*manager.Manager) error { return errors.New("no") }},
	} {
		if _,
			err := fakecontrollers.New(env.Config,
			fakecontrollers.Options{Controllers: []fakecontrollers.Controller{p}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFakeControllersAreSelectedByName(t *testing.T) {
	all := len(fakecontrollers.All())
	for _, test := range []struct {
		names []string
		want  int
		err   string
	}{
		{nil, 0, ""},
		{[]string{"*"}, all, ""},
		{[]string{"*", "-kubelet", "-job-controller"}, all - 2, ""},
		{[]string{"kubelet"}, 1, ""},
		{[]string{"-kubelet", "kubelet", "*"}, all, ""},
		{[]string{"-kublet"}, 0, `no fake controller "kublet"; use cronjob-controller, daemonset-controller, `},
	} {
		got, err := fakecontrollers.Select(test.names...)
		if len(got) != test.want || test.err == "" && err != nil || test.err != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), test.err)) {
			t.Errorf("%q: got %d, %v", test.names, len(got), err)
		}
	}
}
