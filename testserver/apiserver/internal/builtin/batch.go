package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	jobutil "k8s.io/kubernetes/pkg/api/job"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
)

var batchV1 = batchv1.SchemeGroupVersion

// CronJobs returns the kind CronJob.
func CronJobs() Kind {
	doc := batchv1.CronJobSpec{}.SwaggerDoc()
	template := func(c *batchv1.CronJob) *corev1.PodTemplateSpec { return &c.Spec.JobTemplate.Spec.Template }
	return Kind{
		GVK: batchV1.WithKind("CronJob"), Resource: "cronjobs", Short: []string{"cj"}, Categories: []string{"all"},
		Namespaced: true,
		Rules:      By(cronjob.Strategy), Status: new(By(cronjob.StatusStrategy)),
		Columns: append(append([]Column{
			Col("Schedule", "string", doc["schedule"], func(c *batchv1.CronJob) any { return c.Spec.Schedule }),
			Col("Timezone", "string", doc["timeZone"],
				func(c *batchv1.CronJob) any { return textOr(c.Spec.TimeZone, "<none>") }),
			Col("Suspend", "boolean", doc["suspend"], func(c *batchv1.CronJob) any {
				if Deref(c.Spec.Suspend) {
					return "True"
				}
				return "False"
			}),
			Col("Active", "integer", batchv1.CronJobStatus{}.SwaggerDoc()["active"],
				func(c *batchv1.CronJob) any { return int64(len(c.Status.Active)) }),
			Col("Last Schedule", "string", batchv1.CronJobStatus{}.SwaggerDoc()["lastScheduleTime"],
				func(c *batchv1.CronJob) any {
					if c.Status.LastScheduleTime == nil {
						return "<none>"
					}
					return since(*c.Status.LastScheduleTime)
				}),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", batchv1.JobSpec{}.SwaggerDoc()["selector"],
				func(c *batchv1.CronJob) any { return metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector) })),
	}
}

// Jobs returns the kind Job.
func Jobs() Kind {
	template := func(j *batchv1.Job) *corev1.PodTemplateSpec { return &j.Spec.Template }
	return Kind{
		GVK: batchV1.WithKind("Job"), Resource: "jobs", Categories: []string{"all"}, Namespaced: true,
		Rules: jobRules(), Status: new(jobStatusRules()),
		Columns: append(append([]Column{
			Col("Status", "string", "Status of the job.", func(j *batchv1.Job) any { return jobState(j) }),
			Col("Completions", "string", batchv1.JobStatus{}.SwaggerDoc()["succeeded"], func(j *batchv1.Job) any {
				switch {
				case j.Spec.Completions != nil:
					return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
				case Deref(j.Spec.Parallelism) > 1:
					return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
				}
				return fmt.Sprintf("%d/1", j.Status.Succeeded)
			}),
			Col("Duration", "string", "Time required to complete the job.", func(j *batchv1.Job) any {
				switch {
				case j.Status.StartTime == nil:
					return ""
				case j.Status.CompletionTime == nil:
					return duration.HumanDuration(time.Since(j.Status.StartTime.Time))
				}
				return duration.HumanDuration(j.Status.CompletionTime.Sub(j.Status.StartTime.Time))
			}),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", batchv1.JobSpec{}.SwaggerDoc()["selector"],
				func(j *batchv1.Job) any { return metav1.FormatLabelSelector(j.Spec.Selector) })),
		Fields: func(object runtime.Object, set fields.Set) {
			set["status.successful"] = strconv.Itoa(int(object.(*batchv1.Job).Status.Succeeded))
		},
	}
}

func jobState(j *batchv1.Job) string {
	switch {
	case jobConditionTrue(j, batchv1.JobComplete):
		return "Complete"
	case jobConditionTrue(j, batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget,
		batchv1.JobSuccessCriteriaMet} {
		if jobConditionTrue(j, kind) {
			return string(kind)
		}
	}
	return "Running"
}

func jobConditionTrue(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions,
		func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func jobRules() Rules {
	at := field.NewPath("spec")
	return Own[*batch.Job]{
		Reset: []string{"status"}, Policy: rest.OrphanDependents, Spec: func(j *batch.Job) any { return j.Spec },
		Create: func(_ context.Context, j *batch.Job) {
			selectPods(j)
			j.Status = batch.JobStatus{}
			jobutil.DropDisabledFields(&j.Spec, nil)
			podutil.DropDisabledTemplateFields(&j.Spec.Template, nil)
		},
		Update: func(_ context.Context, j, old *batch.Job) {
			j.Status = old.Status
			jobutil.DropDisabledFields(&j.Spec, &old.Spec)
			podutil.DropDisabledTemplateFields(&j.Spec.Template, &old.Spec.Template)
		},
		Validate: func(_ context.Context, j *batch.Job) field.ErrorList {
			return batchvalidation.ValidateJobCreate(j, batchvalidation.JobValidationOptions{
				PodValidationOptions:  podutil.GetValidationOptionsFromPodTemplate(&j.Spec.Template, nil),
				RequirePrefixedLabels: true,
			})
		},
		ValidateUpdate: func(_ context.Context, j, old *batch.Job) field.ErrorList {
			return batchvalidation.ValidateJobUpdate(j, old, jobUpdateOptions(j, old))
		},
		Warnings: func(ctx context.Context, j, old *batch.Job) []string {
			if old == nil {
				return append(dnsLabelWarning(j.Name, "Pod names and hostnames"), jobutil.WarningsForJobSpec(ctx, at, &j.Spec,
					nil)...)
			}
			if j.Generation == old.Generation {
				return nil
			}
			return jobutil.WarningsForJobSpec(ctx, at, &j.Spec, &old.Spec)
		},
	}.Rules()
}

// selectPods sets a job's selector to the job's UID, and adds labels with the job's name and UID to the pod template.
// It does nothing if the job has a manual selector.
func selectPods(j *batch.Job) {
	if Deref(j.Spec.ManualSelector) {
		return
	}
	j.Spec.Template.Labels = orMake(j.Spec.Template.Labels)
	if len(j.Labels) > 0 && maps.Equal(j.Labels, j.Spec.Template.Labels) && !appliedLabels(j) {
		j.Labels = j.Spec.Template.Labels
	}
	for name, value := range map[string]string{
		batch.LegacyJobNameLabel: j.Name, batch.JobNameLabel: j.Name, batch.LegacyControllerUidLabel: string(j.UID),
		batch.ControllerUidLabel: string(j.UID),
	} {
		if _, ok := j.Spec.Template.Labels[name]; !ok {
			j.Spec.Template.Labels[name] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	j.Spec.Selector.MatchLabels = orMake(j.Spec.Selector.MatchLabels)
	if _, ok := j.Spec.Selector.MatchLabels[batch.ControllerUidLabel]; !ok {
		j.Spec.Selector.MatchLabels[batch.ControllerUidLabel] = string(j.UID)
	}
}

// appliedLabels reports whether the labels of a job are independent of the labels of its template. Kubernetes'
// defaulting makes both share one map if a client creates or updates the job. After a server-side apply, the job has
// its own labels if a field manager owns some of them.
func appliedLabels(j *batch.Job) bool {
	for _, entry := range j.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			var owned struct {
				Metadata struct {
					Labels map[string]any `json:"f:labels"`
				} `json:"f:metadata"`
			}
			//lint:ignore SA1019 its successor is not in all versions of apimachinery that the runtime compiles with
			return entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.Raw, &owned) != nil || len(owned.Metadata.Labels) > 0
		}
	}
	return true
}

// jobUpdateOptions returns which fields of a job may change. More of them may change while the job is suspended and has
// no pods.
func jobUpdateOptions(j, old *batch.Job) batchvalidation.JobValidationOptions {
	options := batchvalidation.JobValidationOptions{PodValidationOptions: podutil.GetValidationOptionsFromPodTemplate(
		&j.Spec.Template, &old.Spec.Template)}
	options.AllowInvalidLabelValueInSelector = options.AllowInvalidLabelValueInSelector ||
		metav1validation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector)
	suspended, started := Deref(old.Spec.Suspend), old.Status.StartTime != nil
	idle := suspended && old.Status.Active == 0 && (!started || batchvalidation.IsConditionTrue(old.Status.Conditions,
		batch.JobSuspended))
	options.AllowMutablePodResources = idle && utilfeature.DefaultFeatureGate.Enabled(
		features.MutablePodResourcesForSuspendedJobs)
	options.AllowMutableSchedulingDirectives = suspended && !started
	if utilfeature.DefaultFeatureGate.Enabled(features.MutableSchedulingDirectivesForSuspendedJobs) {
		options.AllowMutableSchedulingDirectives = idle
	}
	_, named := old.Spec.Template.Labels[batch.JobNameLabel]
	_, controlled := old.Spec.Template.Labels[batch.ControllerUidLabel]
	options.RequirePrefixedLabels = named && controlled
	return options
}

func jobStatusRules() Rules {
	return Own[*batch.Job]{
		Reset:  []string{"spec"},
		Update: func(_ context.Context, j, old *batch.Job) { j.Spec = old.Spec },
		ValidateUpdate: func(_ context.Context, j, old *batch.Job) field.ErrorList {
			return batchvalidation.ValidateJobUpdateStatus(j, old, jobStatusOptions(j, old))
		},
	}.Rules()
}

// jobStatusOptions enables checks only for the fields that an update changes, so that an update can keep other invalid
// fields.
func jobStatusOptions(j, old *batch.Job) batchvalidation.JobStatusValidationOptions {
	changed := func(of func(j *batch.Job) any) bool { return !equality.Semantic.DeepEqual(of(j), of(old)) }
	condition := func(kind batch.JobConditionType) bool {
		return changed(func(j *batch.Job) any { return batchvalidation.IsConditionTrue(j.Status.Conditions, kind) })
	}
	finished := changed(func(j *batch.Job) any { return batchvalidation.IsJobFinished(j) })
	complete, failed := condition(batch.JobComplete), condition(batch.JobFailed)
	active := changed(func(j *batch.Job) any { return j.Status.Active })
	completed := changed(func(j *batch.Job) any { return j.Status.CompletedIndexes })
	failedIndexes := changed(func(j *batch.Job) any { return j.Status.FailedIndexes })
	started := changed(func(j *batch.Job) any { return j.Status.StartTime })
	ended := changed(func(j *batch.Job) any { return j.Status.CompletionTime })
	resumed := batchvalidation.IsConditionTrue(old.Status.Conditions, batch.JobSuspended) &&
		batchvalidation.IsConditionFalse(j.Status.Conditions, batch.JobSuspended)
	nothingToDo := Deref(j.Spec.Suspend) && j.Spec.Completions != nil && *j.Spec.Completions == 0
	indexed := Deref(j.Spec.CompletionMode) == batch.IndexedCompletion
	return batchvalidation.JobStatusValidationOptions{
		RejectDecreasingSucceededCounter: !indexed || !equality.Semantic.DeepEqual(j.Spec.Completions,
			j.Spec.Parallelism),
		RejectDecreasingFailedCounter:                true,
		RejectDisablingTerminalCondition:             true,
		RejectMutatingCompletionTime:                 true,
		RejectInvalidCompletedIndexes:                completed,
		RejectCompletedIndexesForNonIndexedJob:       completed,
		RejectInvalidFailedIndexes:                   failedIndexes,
		RejectFailedIndexesForNoBackoffLimitPerIndex: failedIndexes,
		RejectFailedIndexesOverlappingCompleted:      failedIndexes || completed,
		RejectFailedJobWithoutFailureTarget:          failed || failedIndexes,
		RejectCompleteJobWithoutSuccessCriteriaMet:   complete || condition(batch.JobSuccessCriteriaMet),
		RejectFinishedJobWithActivePods:              finished || active,
		RejectFinishedJobWithoutStartTime:            (finished || started) && !nothingToDo,
		RejectFinishedJobWithUncountedTerminatedPods: finished ||
			changed(func(j *batch.Job) any { return j.Status.UncountedTerminatedPods }),
		RejectStartTimeUpdateForUnsuspendedJob:      started && !resumed,
		RejectCompletionTimeBeforeStartTime:         started || ended,
		RejectNotCompleteJobWithCompletionTime:      complete || ended,
		RejectCompleteJobWithoutCompletionTime:      complete || ended,
		RejectCompleteJobWithFailedCondition:        complete || failed,
		RejectCompleteJobWithFailureTargetCondition: complete || condition(batch.JobFailureTarget),
		RejectMoreReadyThanActivePods:               active || changed(func(j *batch.Job) any { return j.Status.Ready }),
		RejectFinishedJobWithTerminatingPods: finished ||
			changed(func(j *batch.Job) any { return j.Status.Terminating }),
	}
}
