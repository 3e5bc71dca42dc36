/*
Copyright 2026 The kctrl Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	batchv2 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v2"
	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/controller"
)

// TestCronJob runs the controller against an API server without a Job controller: the test finishes the Jobs and sets
// the time. Each subtest has its own namespace, manager and clock.
func TestCronJob(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	for name, play := range map[string]func(*story){
		"JobsAreStartedWhenTheyAreDue":        testSchedule,
		"AllowStartsBesideTheActive":          testAllow,
		"ForbidWaitsForTheActive":             testForbid,
		"ReplaceDeletesTheActive":             testReplace,
		"OldJobsAreDeleted":                   testHistory,
		"NoHistoryIsNoReasonToRunAgain":       testNoHistory,
		"LateRunsAreMissed":                   testDeadline,
		"TooManyMissedRunsNeedADecision":      testTooManyMissed,
		"NothingIsStartedWhileSuspended":      testSuspend,
		"AnotherManagerStartsNothingTwice":    testRestart,
		"WhatIsWrongIsInTheStatus":            testWrong,
		"DeletedCronJobIsNotReconciled":       testGone,
		"JobsOfOthersAreNotCounted":           testOthers,
		"EveryCountsFromTheLastRunNotFromNow": testEvery,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(begin(t, env))
		})
	}
}

// clock returns the time that the test has set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// story is a test of one CronJob.
type story struct {
	*testing.T
	env     *testenv.Env
	ctx     context.Context
	live    *client.REST
	clock   clock
	cronJob *batchv2.CronJob
	stop    func() // the manager
}

func begin(t *testing.T, env *testenv.Env) *story {
	s := &story{T: t, env: env}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.clock.set(time.Now())
	s.cronJob = &batchv2.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: strings.ToLower(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]),
			Name: "report"},
		Spec: batchv2.CronJobSpec{
			Schedule: batchv2.CronSchedule{Minute: "0"},
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "red"},
					Annotations: map[string]string{"why": "because"}},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers:    []corev1.Container{{Name: "main", Image: "example.com/report"}},
					RestartPolicy: corev1.RestartPolicyNever,
				}}},
			},
		},
	}
	s.runManager()
	t.Cleanup(func() { s.stop() })
	s.must(s.live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.cronJob.Namespace}}))
	return s
}

// runManager runs a manager for the namespace until stop is called.
func (s *story) runManager() {
	logger := slog.New(slog.NewTextHandler(s.Output(), nil))
	m, err := manager.New(s.env.Config, manager.Options{Namespaces: []string{s.cronJob.Namespace}, Logger: logger})
	s.must(err)
	s.must(corev1.AddToScheme(m.Scheme()))
	s.must(batchv2.AddToScheme(m.Scheme()))
	s.must((&controller.CronJobReconciler{Now: s.clock.Now}).SetupWithManager(m))
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	s.live, s.stop = m.Live(), sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("the manager ended with %v", err)
		}
	})
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// create creates the CronJob after change.
func (s *story) create(change func(*batchv2.CronJobSpec)) {
	s.Helper()
	change(&s.cronJob.Spec)
	s.must(s.live.Create(s.ctx, s.cronJob))
}

// update changes the spec of the CronJob.
func (s *story) update(change func(*batchv2.CronJobSpec)) {
	s.Helper()
	base := s.cronJob.DeepCopy()
	change(&s.cronJob.Spec)
	s.must(s.live.Patch(s.ctx, s.cronJob, client.MergeFrom(base)))
}

// hour returns the time of a run of the CronJob. The first run is at the first full hour after its creation.
func (s *story) hour(n int) time.Time {
	return s.cronJob.CreationTimestamp.Truncate(time.Hour).Add(time.Duration(n) * time.Hour)
}

// advance sets the clock and triggers a reconcile.
func (s *story) advance(now time.Time) {
	s.Helper()
	s.clock.set(now)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"clock":%q}}}`, now)
	s.must(s.live.Patch(s.ctx, s.cronJob, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// awaitReady waits until the Ready condition has a status and a reason.
func (s *story) awaitReady(status metav1.ConditionStatus, reason, message string) {
	s.Helper()
	s.cronJob = testenv.Await(s.ctx, s, s.live, s.cronJob, func(c *batchv2.CronJob) bool {
		ready := meta.FindStatusCondition(c.Status.Conditions, "Ready")
		return c.Status.ObservedGeneration == c.Generation && ready != nil &&
			ready.Status == status && ready.Reason == reason && strings.Contains(ready.Message, message)
	})
}

// awaitNext waits until the status has the time of the next run. All due Jobs have started by then.
func (s *story) awaitNext(next time.Time) {
	s.Helper()
	s.awaitReady(metav1.ConditionTrue, "Scheduled", "The next run is at "+next.UTC().Format(time.RFC3339))
}

// awaitActive waits until the Jobs of these runs exist and the status lists them as active.
func (s *story) awaitActive(runs ...time.Time) {
	s.Helper()
	s.cronJob = testenv.Await(s.ctx, s, s.live, s.cronJob, func(c *batchv2.CronJob) bool {
		return slices.EqualFunc(c.Status.Active, runs, func(ref corev1.ObjectReference, run time.Time) bool {
			return ref.Name == s.job(run).Name && ref.UID != ""
		})
	})
}

// job returns the Job of a run, with only its name.
func (s *story) job(run time.Time) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.cronJob.Namespace, Name: fmt.Sprintf("%s-%d", s.cronJob.Name, run.Unix()),
	}}
}

// awaitJob waits until the Job of a run exists.
func (s *story) awaitJob(run time.Time) *batchv1.Job {
	s.Helper()
	return testenv.Await(s.ctx, s, s.live, s.job(run), func(*batchv1.Job) bool { return true })
}

// finish ends the Job of a run as Kubernetes would: with the condition Complete or Failed.
func (s *story) finish(run time.Time, how batchv1.JobConditionType) {
	s.Helper()
	job := s.awaitJob(run)
	now := metav1.Now()
	job.Status.StartTime = &now
	before := batchv1.JobFailureTarget
	if how == batchv1.JobComplete {
		before, job.Status.CompletionTime, job.Status.Succeeded = batchv1.JobSuccessCriteriaMet, &now, 1
	}
	for _, condition := range []batchv1.JobConditionType{before, how} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: "Test",
		})
	}
	s.must(s.live.Status().Update(s.ctx, job))
}

// wantJobs compares the runs that have Jobs, in order.
func (s *story) wantJobs(runs ...time.Time) {
	s.Helper()
	var jobs batchv1.JobList
	s.must(s.live.List(s.ctx, &jobs, client.InNamespace(s.cronJob.Namespace)))
	var got, want []string
	for _, job := range jobs.Items {
		got = append(got, job.Name)
	}
	for _, run := range runs {
		want = append(want, s.job(run).Name)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("there are the Jobs %v, want %v", got, want)
	}
}

func asItIs(*batchv2.CronJobSpec) {}

func testSchedule(s *story) {
	s.create(asItIs)
	s.awaitNext(s.hour(1))
	s.advance(s.hour(1).Add(-time.Second))
	s.awaitNext(s.hour(1))
	s.wantJobs()

	s.advance(s.hour(1))
	s.awaitNext(s.hour(2))
	s.awaitActive(s.hour(1))
	if last := s.cronJob.Status.LastScheduleTime; last == nil || !last.Time.Equal(s.hour(1)) {
		s.Errorf("the last run was at %v, want %v", last, s.hour(1))
	}
	job := s.awaitJob(s.hour(1))
	if job.Labels["team"] != "red" || job.Annotations["why"] != "because" || !metav1.IsControlledBy(job, s.cronJob) {
		s.Errorf("the Job has %+v", job.ObjectMeta)
	}

	s.finish(s.hour(1), batchv1.JobComplete)
	s.awaitActive()
	s.advance(s.hour(2).Add(time.Minute))
	s.awaitActive(s.hour(2))
	s.wantJobs(s.hour(1), s.hour(2))
}

func testAllow(s *story) {
	s.create(asItIs)
	s.advance(s.hour(1))
	s.awaitActive(s.hour(1))
	s.advance(s.hour(2))
	s.awaitActive(s.hour(1), s.hour(2))
	// Only the latest of several due runs is started.
	s.advance(s.hour(5))
	s.awaitActive(s.hour(1), s.hour(2), s.hour(5))
	// The status lists at most ten Jobs.
	want := []time.Time{s.hour(1), s.hour(2), s.hour(5)}
	for n := 6; n <= 14; n++ {
		want = append(want, s.hour(n))
		s.advance(s.hour(n))
		s.awaitActive(want[:min(len(want), 10)]...)
		s.awaitNext(s.hour(n + 1))
	}
	s.wantJobs(want...)
}

func testForbid(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) { spec.ConcurrencyPolicy = batchv2.ForbidConcurrent })
	s.advance(s.hour(1))
	s.awaitActive(s.hour(1))
	s.advance(s.hour(2))
	s.awaitReady(metav1.ConditionTrue, "Waiting", "waits for the end of "+s.job(s.hour(1)).Name)
	s.wantJobs(s.hour(1))
	// The waiting run starts when no Job is active.
	s.finish(s.hour(1), batchv1.JobFailed)
	s.awaitActive(s.hour(2))
	s.wantJobs(s.hour(1), s.hour(2))
}

func testReplace(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) { spec.ConcurrencyPolicy = batchv2.ReplaceConcurrent })
	s.advance(s.hour(1))
	s.awaitActive(s.hour(1))
	s.advance(s.hour(2))
	s.awaitActive(s.hour(2))
	s.wantJobs(s.hour(2))
	// Finished Jobs are not replaced.
	s.finish(s.hour(2), batchv1.JobComplete)
	s.awaitActive()
	s.advance(s.hour(3))
	s.awaitActive(s.hour(3))
	s.wantJobs(s.hour(2), s.hour(3))
}

func testHistory(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) {
		spec.SuccessfulJobsHistoryLimit, spec.FailedJobsHistoryLimit = new(int32(2)), new(int32(1))
	})
	for n := 1; n <= 6; n++ {
		s.advance(s.hour(n))
		s.finish(s.hour(n), []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}[n%2])
		s.awaitActive()
	}
	for _, n := range []int{1, 2, 3} {
		testenv.AwaitGone(s.ctx, s, s.live, s.job(s.hour(n)))
	}
	s.wantJobs(s.hour(4), s.hour(5), s.hour(6))
}

func testNoHistory(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) { spec.SuccessfulJobsHistoryLimit = new(int32(0)) })
	s.advance(s.hour(1))
	s.finish(s.hour(1), batchv1.JobComplete)
	testenv.AwaitGone(s.ctx, s, s.live, s.job(s.hour(1)))
	s.advance(s.hour(2).Add(-time.Second))
	s.awaitActive()
	s.advance(s.hour(2))
	s.awaitActive(s.hour(2))
	s.wantJobs(s.hour(2))
}

func testDeadline(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) { spec.StartingDeadlineSeconds = new(int64(60)) })
	s.advance(s.hour(1).Add(61 * time.Second))
	s.awaitNext(s.hour(2))
	s.wantJobs()
	s.advance(s.hour(2).Add(60 * time.Second))
	s.awaitActive(s.hour(2))
	// The number of missed runs does not matter.
	s.advance(s.hour(5000).Add(30 * time.Second))
	s.awaitActive(s.hour(2), s.hour(5000))
	s.wantJobs(s.hour(2), s.hour(5000))
}

func testTooManyMissed(s *story) {
	s.create(asItIs)
	s.advance(s.hour(101))
	s.awaitReady(metav1.ConditionFalse, "TooManyMissedRuns", "set spec.startingDeadlineSeconds")
	s.wantJobs()
	s.update(func(spec *batchv2.CronJobSpec) { spec.StartingDeadlineSeconds = new(int64(7200)) })
	s.awaitNext(s.hour(102))
	s.awaitActive(s.hour(101))
	s.wantJobs(s.hour(101))
}

func testSuspend(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) { spec.Suspend = new(true) })
	s.awaitReady(metav1.ConditionFalse, "Suspended", "")
	s.advance(s.hour(1))
	s.update(func(spec *batchv2.CronJobSpec) { spec.FailedJobsHistoryLimit = new(int32(7)) })
	s.awaitReady(metav1.ConditionFalse, "Suspended", "")
	s.wantJobs()
	s.update(func(spec *batchv2.CronJobSpec) { spec.Suspend = new(false) })
	s.awaitActive(s.hour(1))
	// Active Jobs continue.
	s.update(func(spec *batchv2.CronJobSpec) { spec.Suspend = new(true) })
	s.awaitReady(metav1.ConditionFalse, "Suspended", "")
	s.finish(s.hour(1), batchv1.JobComplete)
	s.awaitActive()
}

func testRestart(s *story) {
	s.create(asItIs)
	s.advance(s.hour(1))
	s.awaitActive(s.hour(1))
	s.stop()
	// If the status is lost, the controller restores it from the Job.
	s.must(s.live.Status().Patch(s.ctx, s.cronJob, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))))
	s.runManager()
	s.awaitNext(s.hour(2))
	s.awaitActive(s.hour(1))
	s.finish(s.hour(1), batchv1.JobComplete)
	s.awaitActive()
	s.wantJobs(s.hour(1))
}

func testWrong(s *story) {
	wrong := corev1.RestartPolicyAlways // invalid for Jobs
	s.create(func(spec *batchv2.CronJobSpec) {
		spec.TimeZone = new("Europe/Atlantis")
		spec.JobTemplate.Spec.Template.Spec.RestartPolicy = wrong
	})
	s.awaitReady(metav1.ConditionFalse, "InvalidSchedule", "unknown time zone Europe/Atlantis")
	s.update(func(spec *batchv2.CronJobSpec) { spec.TimeZone = nil })
	s.awaitNext(s.hour(1))
	s.advance(s.hour(1))
	s.awaitReady(metav1.ConditionFalse, "CannotStart", "restartPolicy")
	s.wantJobs()
	s.update(func(spec *batchv2.CronJobSpec) {
		spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	})
	s.awaitActive(s.hour(1))
}

func testGone(s *story) {
	s.cronJob.Finalizers = []string{"example.com/keep"}
	s.create(asItIs)
	s.awaitNext(s.hour(1))
	s.must(s.live.Delete(s.ctx, s.cronJob))
	s.advance(s.hour(1))
	s.must(s.live.Patch(s.ctx, s.cronJob, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`))))
	testenv.AwaitGone(s.ctx, s, s.live, s.cronJob)
	// A request may arrive for an object that no longer exists.
	reconciler := &controller.CronJobReconciler{Client: s.live}
	result, err := reconciler.Reconcile(s.ctx, reconcile.Request{NamespacedName: object.KeyOf(s.cronJob)})
	if err != nil || result != (reconcile.Result{}) {
		s.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}
	s.wantJobs()
}

func testOthers(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) {
		spec.ConcurrencyPolicy, spec.SuccessfulJobsHistoryLimit = batchv2.ReplaceConcurrent, new(int32(0))
	})
	other := s.job(s.hour(2))
	other.Name = "a-" + other.Name
	s.cronJob.Spec.JobTemplate.Spec.DeepCopyInto(&other.Spec)
	s.must(s.live.Create(s.ctx, other))
	s.advance(s.hour(1))
	s.awaitActive(s.hour(1))
	s.advance(s.hour(2))
	s.awaitActive(s.hour(2))
	testenv.AwaitGone(s.ctx, s, s.live, s.job(s.hour(1)))
	if err := s.live.Get(s.ctx, object.KeyOf(other), other); err != nil {
		s.Errorf("the Job of another owner: %v", err)
	}
}

func testEvery(s *story) {
	s.create(func(spec *batchv2.CronJobSpec) {
		spec.Schedule = batchv2.CronSchedule{Expression: new("@every 90m")}
		spec.StartingDeadlineSeconds = new(int64(600))
	})
	born := s.cronJob.CreationTimestamp.Time
	s.awaitNext(born.Add(90 * time.Minute))
	s.advance(born.Add(45 * time.Minute))
	s.awaitNext(born.Add(90 * time.Minute))
	s.advance(born.Add(95 * time.Minute))
	s.awaitNext(born.Add(180 * time.Minute))
	s.awaitActive(born.Add(90 * time.Minute))
	s.advance(born.Add(191 * time.Minute)) // too late
	s.awaitNext(born.Add(270 * time.Minute))
	s.wantJobs(born.Add(90 * time.Minute))
}
