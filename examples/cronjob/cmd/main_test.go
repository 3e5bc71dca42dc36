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

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	k8sbatchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	batchv1 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v1"
	batchv2 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v2"
)

// TestGeneratedFilesAreCurrent checks that all generated files are up to date.
func TestGeneratedFilesAreCurrent(t *testing.T) { run(t, "make", "-s", "-C", "..", "check") }

// run runs a command. The Makefile of the project and the API server of the test use the same kctrl.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// apply applies a kustomization with the kctrl that runs the API server.
func apply(t *testing.T, env *testenv.Env, dir string) {
	t.Helper()
	run(t, cmp.Or(os.Getenv(testenv.CommandVariable), "kctrl"), "env", "apply", "--kubeconfig", env.Kubeconfig, "-k",
		dir)
}

// TestOperator deploys config/default on an API server and runs the operator. The operator first has only the
// permissions that it has in a cluster. Then it serves on loopback, where the API server reaches its webhooks. Each
// step starts from the state at the end of the step before.
func TestOperator(t *testing.T) {
	env := testenv.Start(t, testenv.WithGarbageCollector())
	apply(t, env, "../config/default")
	for _, step := range []struct {
		name string
		test func(*operator)
	}{
		{"ItsRightsAreEnough", testRights},
		{"ItsWebhooksAreCalled", testWebhooks},
		{"TheOldVersionCanGo", testMigration},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.test(newOperator(t, env)) }) {
			return
		}
	}
}

// operator is the operator and its users in one step of the test.
type operator struct {
	*testing.T
	ctx      context.Context
	env      *testenv.Env
	live     *client.REST // of an administrator
	warnings []string     // received by live
	log      logs
}

// logs is a log that can be read while it is written.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newOperator(t *testing.T, env *testenv.Env) *operator {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	o := &operator{T: t, ctx: ctx, env: env}
	scheme := runtime.NewScheme()
	o.must(errors.Join(batchv1.AddToScheme(scheme), batchv2.AddToScheme(scheme), k8sbatchv1.AddToScheme(scheme),
		corev1.AddToScheme(scheme)))
	config := rest.CopyConfig(env.Config)
	config.WarningHandler = o
	live, err := client.New(config, client.Options{Scheme: scheme})
	o.must(err)
	o.live = live
	return o
}

// HandleWarningHeader records the warnings of live, whose requests run one at a time.
func (o *operator) HandleWarningHeader(_ int, _ string, text string) {
	o.warnings = append(o.warnings, text)
}

func (o *operator) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatalf("%v\n%s", err, &o.log)
	}
}

// start runs the manager until the step ends.
func (o *operator) start(config *rest.Config, opts manager.Options) {
	o.Helper()
	opts.Logger = slog.New(slog.NewTextHandler(&o.log, nil))
	m, err := manager.New(config, opts)
	o.must(err)
	o.must(setup(m))
	ctx, cancel := context.WithCancel(context.WithoutCancel(o.ctx))
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	o.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			o.Errorf("the manager ended with %v\n%s", err, &o.log)
		}
	})
}

// startWebhooks runs the manager where the API server reaches its webhooks, and returns when it calls them.
func (o *operator) startWebhooks() {
	o.Helper()
	o.start(o.env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../config/webhook"}}})
	o.eventually(func() error {
		probe := o.v1("probe", "@hourly")
		err := o.live.Create(o.ctx, probe, client.DryRunAll)
		if err == nil && probe.Spec.Suspend == nil {
			err = errors.New("nothing has filled in what was left out")
		}
		return err
	})
}

// eventually calls done until it succeeds.
func (o *operator) eventually(done func() error) {
	o.Helper()
	for {
		err := done()
		if err == nil {
			return
		}
		if o.ctx.Err() != nil {
			o.must(err)
		}
	}
}

func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

// template is the smallest Job template that a user can write.
func template() k8sbatchv1.JobTemplateSpec {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/report"}}}
	return k8sbatchv1.JobTemplateSpec{Spec: k8sbatchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}
}

func (o *operator) v1(name, schedule string) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: metaOf(name), Spec: batchv1.CronJobSpec{Schedule: schedule,
		JobTemplate: template()}}
}

func (o *operator) v2(name string, schedule batchv2.CronSchedule) *batchv2.CronJob {
	return &batchv2.CronJob{ObjectMeta: metaOf(name), Spec: batchv2.CronJobSpec{Schedule: schedule,
		JobTemplate: template()}}
}

func unstructuredOf(group, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	u.SetName(name)
	return u
}

func webhooks(kind string) *unstructured.Unstructured {
	return unstructuredOf("admissionregistration.k8s.io", kind+"WebhookConfiguration",
		"cronjob-"+strings.ToLower(kind)+"-webhook-configuration")
}

func crd() *unstructured.Unstructured {
	return unstructuredOf("apiextensions.k8s.io", "CustomResourceDefinition", "cronjobs.batch.example.com")
}

// testRights runs the manager as its service account, with the options that config/manager gives it.
func testRights(o *operator) {
	config := rest.CopyConfig(o.env.Config)
	account := "system:serviceaccount:cronjob-system:cronjob-controller-manager"
	config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:serviceaccounts",
		"system:authenticated"}}
	o.start(config, manager.Options{
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "cronjob.example.com", Namespace: "cronjob-system"},
		Webhook: manager.WebhookOptions{
			BindAddress: "127.0.0.1:0", SecretNamespace: "cronjob-system",
			Targets: []string{
				"mutating/cronjob-mutating-webhook-configuration", "validating/cronjob-validating-webhook-configuration",
				"crd/cronjobs.batch.example.com",
			},
		},
	})
	for _, target := range []*unstructured.Unstructured{webhooks("Mutating"), webhooks("Validating"), crd()} {
		testenv.Await(o.ctx, o, o.live, target, func(u *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(u.Object), "caBundle")
		})
	}
	// The Service of these webhooks has no endpoints. Objects of v2, the stored version, need no conversion.
	o.must(o.live.Delete(o.ctx, webhooks("Mutating")))
	o.must(o.live.Delete(o.ctx, webhooks("Validating")))
	cronJob := o.v2("rights", batchv2.CronSchedule{Expression: new("@every 1s")})
	cronJob.Spec.ConcurrencyPolicy = batchv2.ForbidConcurrent
	cronJob.Spec.FailedJobsHistoryLimit = new(int32(0))
	cronJob.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	o.eventually(func() error { return o.live.Create(o.ctx, cronJob) }) // the server calls them for a moment
	active := testenv.Await(o.ctx, o, o.live, cronJob, func(c *batchv2.CronJob) bool { return len(c.Status.Active) == 1 })
	job := &k8sbatchv1.Job{ObjectMeta: metaOf(active.Status.Active[0].Name)}
	o.must(o.live.Get(o.ctx, object.KeyOf(job), job))
	now := metav1.Now()
	job.Status.StartTime = &now
	for _, condition := range []k8sbatchv1.JobConditionType{k8sbatchv1.JobFailureTarget, k8sbatchv1.JobFailed} {
		job.Status.Conditions = append(job.Status.Conditions, k8sbatchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now,
		})
	}
	o.must(o.live.Status().Update(o.ctx, job))
	testenv.AwaitGone(o.ctx, o, o.live, job)
	o.eventually(func() error {
		events := &unstructured.UnstructuredList{}
		events.SetGroupVersionKind(schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "EventList"})
		err := o.live.List(o.ctx, events, client.InNamespace("default"))
		if err == nil && !slices.ContainsFunc(events.Items,
			func(u unstructured.Unstructured) bool { return u.Object["reason"] == "Started" }) {
			err = errors.New("there is no event about a Job that has started")
		}
		return err
	})
	// Jobs are deleted with their CronJob.
	active = testenv.Await(o.ctx, o, o.live, cronJob, func(c *batchv2.CronJob) bool { return len(c.Status.Active) == 1 })
	o.must(o.live.Delete(o.ctx, cronJob))
	testenv.AwaitGone(o.ctx, o, o.live, &k8sbatchv1.Job{ObjectMeta: metaOf(active.Status.Active[0].Name)})
	if text := o.log.String(); strings.Contains(text, "forbidden") {
		o.Errorf("something was forbidden:\n%s", text)
	}
}

func testWebhooks(o *operator) {
	o.startWebhooks()
	o.Run("WhatIsLeftOutIsFilledIn", func(t *testing.T) { testDefaults(newOperator(t, o.env)) })
	o.Run("WhatIsWrongIsRefused", func(t *testing.T) { testValidation(newOperator(t, o.env)) })
	o.Run("SamplesAreReady", func(t *testing.T) { testSamples(newOperator(t, o.env)) })
	o.Run("VersionsAreConverted", func(t *testing.T) { testConversion(newOperator(t, o.env)) })
}

func testDefaults(o *operator) {
	old := o.v1("defaults", "*/5 * * * *")
	o.must(o.live.Create(o.ctx, old))
	want := o.v1("", "*/5 * * * *").Spec
	want.ConcurrencyPolicy = batchv1.AllowConcurrent
	want.Suspend = new(false)
	want.SuccessfulJobsHistoryLimit, want.FailedJobsHistoryLimit = new(int32(3)), new(int32(1))
	want.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	if !reflect.DeepEqual(old.Spec, want) {
		o.Errorf("created %+v, want %+v", old.Spec, want)
	}
	// A value that the user set stays.
	current := o.v2("said", batchv2.CronSchedule{Minute: "5"})
	current.Spec.SuccessfulJobsHistoryLimit = new(int32(0))
	current.Spec.ConcurrencyPolicy = batchv2.ForbidConcurrent
	current.Spec.JobTemplate.Labels = map[string]string{"team": "red"}
	o.must(o.live.Create(o.ctx, current))
	if s := current.Spec; *s.SuccessfulJobsHistoryLimit != 0 || s.ConcurrencyPolicy != batchv2.ForbidConcurrent ||
		s.JobTemplate.Labels["team"] != "red" {
		o.Errorf("created %+v", current.Spec)
	}
	o.must(o.live.Delete(o.ctx, current))
	o.must(o.live.Delete(o.ctx, old))
}

func testValidation(o *operator) {
	good := batchv2.CronSchedule{Hour: "3"}
	for _, c := range []struct {
		name string
		make func() object.Object
		want []string
	}{
		{"a minute in v1", func() object.Object { return o.v1("a", "61 * * * *") },
			[]string{`spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61`}},
		{"a minute in v2", func() object.Object { return o.v2("a", batchv2.CronSchedule{Minute: "61"}) },
			[]string{`spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61`}},
		{"a time that never comes", func() object.Object { return o.v1("a", "0 0 31 6 *") },
			[]string{`spec.schedule: Invalid value: "0 0 31 6 *": there is no such time`}},
		{"two ways to say it", func() object.Object {
			return o.v2("a", batchv2.CronSchedule{Minute: "1", Expression: new("@hourly")})
		}, []string{`spec.schedule: Invalid value: `, `an expression stands alone`}}, // 1.34 prints "object" between
		{"no schedule", func() object.Object { return o.v2("a", batchv2.CronSchedule{}) }, []string{`spec.schedule`}},
		{"all at once", func() object.Object {
			bad := o.v2(strings.Repeat("a", 53), good)
			bad.Spec.TimeZone = new("Europe/Atlantis")
			bad.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
			return bad
		}, []string{
			`metadata.name: Too long: may not be more than 52 bytes`,
			`spec.timeZone: Invalid value: "Europe/Atlantis": unknown time zone Europe/Atlantis`,
			`spec.jobTemplate.spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: "OnFailure", "Never"`,
		}},
	} {
		err := o.live.Create(o.ctx, c.make())
		if !apierrors.IsInvalid(err) {
			o.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				o.Errorf("%s: no %q in: %v", c.name, want, err)
			}
		}
	}

	edge := o.v2(strings.Repeat("a", 52), good)
	edge.Spec.StartingDeadlineSeconds = new(int64(5))
	o.must(o.live.Create(o.ctx, edge))
	if len(o.warnings) != 1 || !strings.Contains(o.warnings[0], "spec.startingDeadlineSeconds") {
		o.Errorf("create shows the warnings %q", o.warnings)
	}
	base := edge.DeepCopy()
	edge.Spec.Schedule.Hour = "24"
	if err := o.live.Patch(o.ctx, edge, client.MergeFrom(base)); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), `"* 24 * * *"`) {
		o.Errorf("update: %v", err)
	}
	o.must(o.live.Delete(o.ctx, edge))
}

func testSamples(o *operator) {
	apply(o.T, o.env, "../config/samples")
	for _, name := range []string{"cronjob-sample", "cronjob-sample-v2"} {
		sample := &batchv2.CronJob{ObjectMeta: metaOf(name)}
		testenv.Await(o.ctx, o, o.live, sample, func(c *batchv2.CronJob) bool {
			return meta.IsStatusConditionTrue(c.Status.Conditions, "Ready")
		})
		o.must(o.live.Delete(o.ctx, sample))
	}
}

func testConversion(o *operator) {
	current := o.v2("converted", batchv2.CronSchedule{Hour: "3", Month: "*/2"})
	o.must(o.live.Create(o.ctx, current))
	key := object.KeyOf(current)
	old := &batchv1.CronJob{}
	o.must(o.live.Get(o.ctx, key, old))
	if old.Spec.Schedule != "* 3 * */2 *" {
		o.Errorf("v1 has the schedule %q", old.Spec.Schedule)
	}
	// A client that only knows v1 changes another field.
	base := old.DeepCopy()
	old.Spec.TimeZone = new("Asia/Tokyo")
	o.must(o.live.Patch(o.ctx, old, client.MergeFrom(base)))
	o.must(o.live.Get(o.ctx, key, current))
	if want := (batchv2.CronSchedule{Hour: "3", Month: "*/2"}); current.Spec.Schedule != want ||
		*current.Spec.TimeZone != "Asia/Tokyo" {
		o.Errorf("v2 has %+v", current.Spec)
	}
	// Then it sets a schedule that five fields cannot express.
	base = old.DeepCopy()
	old.Spec.Schedule = "@every 90m"
	o.must(o.live.Patch(o.ctx, old, client.MergeFrom(base)))
	o.must(o.live.Get(o.ctx, key, current))
	if s := current.Spec.Schedule; s.Expression == nil || *s.Expression != "@every 90m" || s.Hour != "" {
		o.Errorf("v2 has the schedule %+v", s)
	}
	// The controller has written the status in v2.
	testenv.Await(o.ctx, o, o.live, old,
		func(c *batchv1.CronJob) bool { return c.Status.ObservedGeneration == c.Generation })
	o.must(o.live.Delete(o.ctx, current))
}

// testMigration upgrades through three releases: the first stores v1, the second stores v2, and the third has no v1.
func testMigration(o *operator) {
	storing := func(version string) func(map[string]any) {
		return func(v map[string]any) { v["storage"] = v["name"] == version }
	}
	o.changeVersions(storing("v1"))
	o.Run("V1IsStored", func(t *testing.T) {
		first := newOperator(t, o.env)
		first.startWebhooks()
		first.awaitStored("v1")
		for i := range 3 {
			first.must(first.live.Create(first.ctx, first.v1(fmt.Sprint("old-", i), "0  3 * * 1")))
		}
		first.must(first.live.Create(first.ctx, first.v2("kept", batchv2.CronSchedule{Hour: "3"})))
	})
	// This CronJob is older than the webhooks.
	o.eventually(func() error { return o.live.Create(o.ctx, o.v1("wrong", "61 * * * *")) })
	o.changeVersions(storing("v2"))
	o.Run("V2IsStored", func(t *testing.T) {
		second := newOperator(t, o.env)
		second.startWebhooks()
		second.awaitStored("v2")
	})
	// Without a webhook the API server does not convert: it returns objects as they are stored.
	o.changeVersions(func(v map[string]any) { v["served"] = v["name"] == "v2" })
	var all batchv2.CronJobList
	o.must(o.live.List(o.ctx, &all, client.InNamespace("default")))
	got := map[string]string{}
	for _, c := range all.Items {
		got[c.Name] = fmt.Sprint(c.Spec.Schedule, " ", len(c.Annotations))
	}
	want := map[string]string{"old-0": "0  3 * * 1 0", "old-1": "0  3 * * 1 0", "old-2": "0  3 * * 1 0",
		"kept": "* 3 * * * 0", "wrong": "61 * * * * 0"}
	if !reflect.DeepEqual(got, want) {
		o.Errorf("stored are %v, want %v", got, want)
	}
}

// changeVersions changes each version of the CRD.
func (o *operator) changeVersions(change func(version map[string]any)) {
	o.Helper()
	definition := crd()
	o.must(o.live.Get(o.ctx, object.Key{Name: definition.GetName()}, definition))
	base := definition.DeepCopy()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	o.must(err)
	for _, v := range versions {
		change(v.(map[string]any))
	}
	o.must(unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	o.must(o.live.Patch(o.ctx, definition, client.MergeFrom(base)))
}

// awaitStored waits until the status of the CRD lists one stored version.
func (o *operator) awaitStored(version string) {
	o.Helper()
	testenv.Await(o.ctx, o, o.live, crd(), func(u *unstructured.Unstructured) bool {
		stored, _, _ := unstructured.NestedStringSlice(u.Object, "status", "storedVersions")
		return slices.Equal(stored, []string{version})
	})
}
