package builtin

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

var batchV1 = batchv1.SchemeGroupVersion

func batchDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(job *batchv1.Job) {
			spec := &job.Spec
			if spec.Completions == nil && spec.Parallelism == nil {
				SetPointer(&spec.Completions, 1)
			}
			SetPointer(&spec.Parallelism, 1)
			if spec.BackoffLimitPerIndex != nil {
				SetPointer(&spec.BackoffLimit, math.MaxInt32)
			}
			SetPointer(&spec.BackoffLimit, 6)
			if len(job.Labels) == 0 && spec.Template.Labels != nil {
				job.Labels = spec.Template.Labels
			}
			SetPointer(&spec.CompletionMode, batchv1.NonIndexedCompletion)
			SetPointer(&spec.Suspend, false)
			if spec.PodFailurePolicy != nil {
				SetPointer(&spec.PodReplacementPolicy, batchv1.Failed)
			}
			SetPointer(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
			SetPointer(&spec.ManualSelector, false)
		}),
		DefaultsOf(func(job *batchv1.CronJob) {
			Set(&job.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
			SetPointer(&job.Spec.Suspend, false)
			SetPointer(&job.Spec.SuccessfulJobsHistoryLimit, 3)
			SetPointer(&job.Spec.FailedJobsHistoryLimit, 1)
		}),
		DefaultsOf(func(pattern *batchv1.PodFailurePolicyOnPodConditionsPattern) {
			Set(&pattern.Status, corev1.ConditionTrue)
		}),
	}
}
