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

// Package webhook sets defaults in CronJobs and validates them before the API server stores them. The webhooks handle
// only v2, because the API server converts v1 objects first.
package webhook

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"

	batchv2 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v2"
	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/conversion"
	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/schedule"
)

// +kubebuilder:webhook:path=/mutate-batch-example-com-v2-cronjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=batch.example.com,resources=cronjobs,verbs=create;update,versions=v2,name=mcronjob.example.com,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-batch-example-com-v2-cronjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=batch.example.com,resources=cronjobs,verbs=create;update,versions=v2,name=vcronjob.example.com,admissionReviewVersions=v1

// The manager issues its own certificate, keeps it in a Secret, and adds its CA to the webhook configurations and the
// CRD.
//kctrl:ignore rbac: webhook certificates, see --webhook-targets
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
//kctrl:ignore rbac: webhook certificates, see --webhook-targets
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,resourceNames=webhook-certificates,verbs=get;list;watch;update
//kctrl:ignore rbac: webhook certificates, see --webhook-targets
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=cronjob-mutating-webhook-configuration,verbs=get;list;watch;patch
//kctrl:ignore rbac: webhook certificates, see --webhook-targets
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=cronjob-validating-webhook-configuration,verbs=get;list;watch;patch
//kctrl:ignore rbac: webhook certificates, see --webhook-targets
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=cronjobs.batch.example.com,verbs=get;list;watch;patch

// SetupWithManager makes m serve the webhooks of CronJob and convert its versions.
func SetupWithManager(m controller.Manager) error {
	return webhook.For[*batchv2.CronJob](m).
		WithDefaulter(admission.DefaulterFunc[*batchv2.CronJob](Default)).
		WithValidator(admission.ValidatorFuncs[*batchv2.CronJob]{Create: ValidateCreate, Update: ValidateUpdate}).
		WithSpokes(conversion.V1).
		Complete()
}

// Default sets the unset fields of a CronJob. For a constant default, a marker on the type would be enough. A marker
// cannot set a default that depends on another field, or a default in a type of another module.
func Default(_ context.Context, cronJob *batchv2.CronJob) error {
	spec := &cronJob.Spec
	spec.ConcurrencyPolicy = cmp.Or(spec.ConcurrencyPolicy, batchv2.AllowConcurrent)
	spec.Suspend = cmp.Or(spec.Suspend, new(false))
	spec.SuccessfulJobsHistoryLimit = cmp.Or(spec.SuccessfulJobsHistoryLimit, new(int32(3)))
	spec.FailedJobsHistoryLimit = cmp.Or(spec.FailedJobsHistoryLimit, new(int32(1)))
	pod := &spec.JobTemplate.Spec.Template.Spec
	// a Job does not allow the default restart policy of pods
	pod.RestartPolicy = cmp.Or(pod.RestartPolicy, corev1.RestartPolicyOnFailure)
	return nil
}

// ValidateCreate rejects an invalid CronJob.
func ValidateCreate(_ context.Context, cronJob *batchv2.CronJob) (admission.Warnings, error) {
	return validate(cronJob)
}

// ValidateUpdate validates the spec only if the update changes more than defaults. Therefore the labels, the finalizers
// and the stored version of a CronJob that is older than a rule can still change.
func ValidateUpdate(ctx context.Context, oldCronJob, cronJob *batchv2.CronJob) (admission.Warnings, error) {
	if err := Default(ctx, oldCronJob); err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(oldCronJob.Spec, cronJob.Spec) {
		return nil, nil
	}
	return validate(cronJob)
}

// maxName is the maximum length of a CronJob's name. The names of its Jobs end in a time, and are also labels of pods.
const maxName = 63 - len("-1893456000")

// validate checks the rules that the schema of the CRD cannot express.
func validate(cronJob *batchv2.CronJob) (admission.Warnings, error) {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(cronJob.Name) > maxName {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), cronJob.Name, maxName))
	}
	zone := ""
	if cronJob.Spec.TimeZone != nil {
		zone = *cronJob.Spec.TimeZone
	}
	if _, err := schedule.Zone(zone); err != nil {
		errs = append(errs, field.Invalid(spec.Child("timeZone"), zone, err.Error()))
		zone = ""
	}
	// v1 has the same path, so the error is also correct for users of v1.
	text := cronJob.Spec.Schedule.String()
	if _, err := schedule.Parse(text, zone); err != nil {
		errs = append(errs, field.Invalid(spec.Child("schedule"), text, err.Error()))
	}
	if policy := cronJob.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy; policy == corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(spec.Child("jobTemplate", "spec", "template", "spec", "restartPolicy"), policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}))
	}
	return warnings(cronJob), errs.ToAggregate()
}

// warnings returns warnings about settings that are valid but rarely intended.
func warnings(cronJob *batchv2.CronJob) admission.Warnings {
	if deadline := cronJob.Spec.StartingDeadlineSeconds; deadline != nil && *deadline < 10 {
		return admission.Warnings{fmt.Sprintf("spec.startingDeadlineSeconds: a run that is late by more than %d s is "+
			"missed, a restart of the operator may take longer", *deadline)}
	}
	return nil
}
