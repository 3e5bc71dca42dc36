package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

const (
	legacyControllerUID = "controller-uid"
	legacyJobName       = "job-name"
)

func jobConditionTrue(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return jobCondition(job, kind, corev1.ConditionTrue)
}

func jobCondition(job *batchv1.Job, kind batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == status })
}

// Jobs are the kind Job.
func Jobs() Kind {
	template := func(j *batchv1.Job) *corev1.PodTemplateSpec { return &j.Spec.Template }
	return Kind{
		GVK: batchV1.WithKind("Job"), Resource: "jobs", Categories: []string{"all"}, Namespaced: true, Policy: rest.OrphanDependents,
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
			Col("Selector", "string wide", batchv1.JobSpec{}.SwaggerDoc()["selector"], func(j *batchv1.Job) any { return metav1.FormatLabelSelector(j.Spec.Selector) })),
		Selectable: []string{"status.successful"},
		Labels: func(label, value string) (string, string, error) {
			switch label {
			case "metadata.name", "metadata.namespace", "status.successful":
				return label, value, nil
			}
			return "", "", fmt.Errorf("field label %q not supported for Job", label)
		},
		Fields: func(object runtime.Object, set fields.Set) {
			set["status.successful"] = strconv.Itoa(int(object.(*batchv1.Job).Status.Succeeded))
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(j *batchv1.Job) any { return j.Spec }),
			Create: Change1(func(j *batchv1.Job) {
				j.Status = batchv1.JobStatus{}
				if !Deref(j.Spec.ManualSelector) {
					selectPods(j)
				}
			}),
			Update: Change2(func(j, old *batchv1.Job) { j.Status = old.Status }),
			Validate: Typed1(func(j *batchv1.Job) field.ErrorList {
				f, at := Findings{ValidateMetadata(&j.ObjectMeta, true, validation.NameIsDNSSubdomain)}, field.NewPath("spec")
				f.generatedSelector(j)
				f.job(&j.Spec, at)
				f.jobSelector(&j.Spec, at)
				f.indexedName(j)
				return f.List
			}),
			ValidateUpdate: Typed2(validateJobUpdate),
			Warnings: Typed1(func(j *batchv1.Job) []string {
				return append(dnsLabelWarning(j.Name, "Pod names and hostnames"), jobWarnings(&j.Spec, field.NewPath("spec"))...)
			}),
			UpdateWarnings: Typed2(func(j, old *batchv1.Job) []string {
				if j.Generation == old.Generation {
					return nil
				}
				return jobWarnings(&j.Spec, field.NewPath("spec"))
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update:         Change2(func(j, old *batchv1.Job) { j.Spec = old.Spec }),
			ValidateUpdate: Typed2(validateJobStatus),
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
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if jobConditionTrue(j, kind) {
			return string(kind)
		}
	}
	return "Running"
}

func jobWarnings(spec *batchv1.JobSpec, at *field.Path) []string {
	var warnings []string
	if spec.Completions != nil && spec.Parallelism != nil && Deref(spec.CompletionMode) == batchv1.IndexedCompletion && *spec.Completions > 100000 && *spec.Parallelism > 10000 {
		warnings = append(warnings, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, podWarnings(&spec.Template.ObjectMeta, &spec.Template.Spec, at.Child("template"))...)
}

// selectPods gives a job a selector for its own pods, by its UID.
func selectPods(j *batchv1.Job) {
	if j.Spec.Template.Labels == nil {
		j.Spec.Template.Labels = map[string]string{}
	}
	if len(j.Labels) > 0 && maps.Equal(j.Labels, j.Spec.Template.Labels) && !appliedLabels(j) {
		j.Labels = j.Spec.Template.Labels
	}
	given := j.Spec.Template.Labels // which are those of the job too when it has none itself
	for name, value := range map[string]string{legacyJobName: j.Name, batchv1.JobNameLabel: j.Name, legacyControllerUID: string(j.UID), batchv1.ControllerUidLabel: string(j.UID)} {
		if _, ok := given[name]; !ok {
			given[name] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, ok := j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(j.UID)
	}
}

// appliedLabels reports whether the labels of a job may be its own: an applied job has those of its template by default only if its
// manager has none; one that was sent whole shares them with the template until here.
func appliedLabels(j *batchv1.Job) bool {
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

func (f *Findings) generatedSelector(j *batchv1.Job) {
	if Deref(j.Spec.ManualSelector) || j.Spec.Selector == nil {
		return
	}
	at, expected := field.NewPath("spec", "template", "metadata", "labels"), map[string]string{}
	for _, label := range []struct{ name, value string }{{legacyControllerUID, string(j.UID)}, {legacyJobName, j.Name}, {batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name}} {
		expected[label.name] = label.value
		actual, ok := j.Spec.Template.Labels[label.name]
		if !ok {
			f.Required(at.Key(label.name), fmt.Sprintf("must be '%s'", label.value))
		} else if actual != label.value {
			f.invalid(at.Key(label.name), j.Spec.Template.Labels, fmt.Sprintf("must be '%s'", label.value))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !selector.Matches(labels.Set(expected)) {
		f.invalid(field.NewPath("spec", "selector"), j.Spec.Selector, "`selector` not auto-generated")
	}
}

func (f *Findings) indexedName(j *batchv1.Job) {
	if Deref(j.Spec.CompletionMode) != batchv1.IndexedCompletion || Deref(j.Spec.Completions) <= 0 {
		return
	}
	if host := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1); len(utilvalidation.IsDNS1123Label(host)) > 0 {
		f.invalid(field.NewPath("metadata", "name"), j.Name, "will not able to create pod with invalid DNS label: "+host)
	}
}

func (f *Findings) jobSelector(spec *batchv1.JobSpec, at *field.Path) {
	if spec.Selector == nil {
		f.Required(at.Child("selector"), "")
	} else {
		f.selector(at.Child("selector"), spec.Selector)
	}
	f.selected(spec.Selector, &spec.Template, at, true)
}

func (f *Findings) job(spec *batchv1.JobSpec, at *field.Path) {
	f.notNegativeIfSet(at.Child("parallelism"), spec.Parallelism)
	f.notNegativeIfSet(at.Child("completions"), spec.Completions)
	if spec.ActiveDeadlineSeconds != nil {
		f.notNegative(at.Child("activeDeadlineSeconds"), *spec.ActiveDeadlineSeconds)
	}
	f.notNegativeIfSet(at.Child("backoffLimit"), spec.BackoffLimit)
	f.notNegativeIfSet(at.Child("ttlSecondsAfterFinished"), spec.TTLSecondsAfterFinished)
	f.notNegativeIfSet(at.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex)
	f.notNegativeIfSet(at.Child("maxFailedIndexes"), spec.MaxFailedIndexes)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		f.Required(at.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
	}
	if spec.ManagedBy != nil {
		f.Add(utilvalidation.IsDomainPrefixedPath(at.Child("managedBy"), *spec.ManagedBy)...)
		if len(*spec.ManagedBy) > 63 {
			f.Add(field.TooLong(at.Child("managedBy"), "", 63))
		}
	}
	if spec.CompletionMode != nil {
		oneOfListed(f, at.Child("completionMode"), *spec.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
	}
	f.indexed(spec, at)
	if policy := spec.PodReplacementPolicy; policy != nil {
		if spec.PodFailurePolicy != nil {
			oneOfListed(f, at.Child("podReplacementPolicy"), *policy, batchv1.Failed)
		} else {
			oneOf(f, at.Child("podReplacementPolicy"), *policy, batchv1.Failed, batchv1.TerminatingOrFailed)
		}
	}
	if spec.PodFailurePolicy != nil {
		f.failurePolicy(spec, at.Child("podFailurePolicy", "rules"))
	}
	f.Add(validateTemplate(&spec.Template, at.Child("template"))...)
	here := at.Child("template", "spec", "restartPolicy")
	switch policy := spec.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways || policy == "":
		f.Required(here, `valid values: "OnFailure", "Never"`)
	case policy != corev1.RestartPolicyOnFailure && policy != corev1.RestartPolicyNever:
		f.Add(field.NotSupported(here, policy, []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}))
	case spec.PodFailurePolicy != nil && policy != corev1.RestartPolicyNever:
		f.invalid(here, policy, `only "Never" is supported when podFailurePolicy is specified`)
	}
}

func (f *Findings) indexed(spec *batchv1.JobSpec, at *field.Path) {
	if Deref(spec.CompletionMode) == batchv1.IndexedCompletion {
		if spec.Completions == nil {
			f.Required(at.Child("completions"), "when completion mode is Indexed")
		}
		if Deref(spec.Parallelism) > 100000 {
			f.invalid(at.Child("parallelism"), *spec.Parallelism, "must be less than or equal to 100000 when completion mode is Indexed")
		}
		if spec.Completions != nil && spec.MaxFailedIndexes != nil && *spec.MaxFailedIndexes > *spec.Completions {
			f.invalid(at.Child("maxFailedIndexes"), *spec.MaxFailedIndexes, "must be less than or equal to completions")
		}
	} else if spec.CompletionMode == nil || *spec.CompletionMode == batchv1.NonIndexedCompletion {
		if spec.BackoffLimitPerIndex != nil {
			f.invalid(at.Child("backoffLimitPerIndex"), *spec.BackoffLimitPerIndex, "requires indexed completion mode")
		}
		if spec.MaxFailedIndexes != nil {
			f.invalid(at.Child("maxFailedIndexes"), *spec.MaxFailedIndexes, "requires indexed completion mode")
		}
	}
	if spec.SuccessPolicy == nil {
		return
	}
	here := at.Child("successPolicy")
	if Deref(spec.CompletionMode) != batchv1.IndexedCompletion {
		f.invalid(here, *spec.SuccessPolicy, "requires indexed completion mode")
		return
	}
	if len(spec.SuccessPolicy.Rules) == 0 {
		f.Required(here.Child("rules"), "at least one rules must be specified when the successPolicy is specified")
	}
	if count := len(spec.SuccessPolicy.Rules); count > 20 {
		f.Add(field.TooMany(here.Child("rules"), count, 20))
	}
	for i, rule := range spec.SuccessPolicy.Rules {
		f.successRule(rule, Deref(spec.Completions), here.Child("rules").Index(i))
	}
}

func (f *Findings) successRule(rule batchv1.SuccessPolicyRule, completions int32, at *field.Path) {
	const longest = 64 << 10
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		f.Required(at, "at least one of succeededCount or succeededIndexes must be specified")
	}
	total := 0
	if indexes := rule.SucceededIndexes; indexes != nil {
		here := at.Child("succeededIndexes")
		if len(*indexes) > longest {
			f.Add(field.TooLong(here, "", longest))
		}
		var err error
		if total, err = countIndexes(*indexes, completions); err != nil {
			f.invalid(here, *indexes, fmt.Sprintf("error parsing succeededIndexes: %s", err))
		}
	}
	f.notNegativeIfSet(at.Child("succeededCount"), rule.SucceededCount)
	count := Deref(rule.SucceededCount)
	if count > completions {
		f.invalid(at.Child("succeededCount"), count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions))
	}
	if rule.SucceededIndexes != nil && int(count) > total {
		f.invalid(at.Child("succeededCount"), count, fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
	}
}

func (f *Findings) failurePolicy(spec *batchv1.JobSpec, at *field.Path) {
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > 20 {
		f.Add(field.TooMany(at, len(rules), 20))
	}
	containers := sets.New[string]()
	EachContainer(&spec.Template.Spec, nil, func(container *corev1.Container, _ *field.Path) { containers.Insert(container.Name) })
	for i, rule := range rules {
		here := at.Index(i)
		switch {
		case rule.Action == "":
			f.Required(here.Child("action"), `valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`)
		case rule.Action == batchv1.PodFailurePolicyActionFailIndex:
			if spec.BackoffLimitPerIndex == nil {
				f.invalid(here.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set")
			}
		default:
			oneOf(f, here.Child("action"), rule.Action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)
		}
		if codes := rule.OnExitCodes; codes != nil {
			f.exitCodes(codes, containers, here.Child("onExitCodes"))
		}
		for j, pattern := range rule.OnPodConditions {
			here := here.Child("onPodConditions").Index(j)
			f.qualified(here.Child("type"), string(pattern.Type))
			oneOf(f, here.Child("status"), pattern.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)
		}
		switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
		case codes && conditions:
			f.invalid(here, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
		case !codes && !conditions:
			f.invalid(here, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
		}
	}
}

func (f *Findings) exitCodes(codes *batchv1.PodFailurePolicyOnExitCodesRequirement, containers sets.Set[string], at *field.Path) {
	if codes.Operator == "" {
		f.Required(at.Child("operator"), `valid values: ["In" "NotIn"]`)
	} else {
		oneOf(f, at.Child("operator"), codes.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	}
	if codes.ContainerName != nil && !containers.Has(*codes.ContainerName) {
		f.invalid(at.Child("containerName"), *codes.ContainerName, "must be one of the container or initContainer names in the pod template")
	}
	here := at.Child("values")
	if len(codes.Values) == 0 {
		f.invalid(here, codes.Values, "at least one value is required")
	}
	known := sets.New[int32]()
	for i, code := range codes.Values {
		if codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			f.invalid(here.Index(i), code, "must not be 0 for the In operator")
		}
		if known.Has(code) {
			f.Add(field.Duplicate(here.Index(i), code))
		}
		known.Insert(code)
	}
	if !slices.IsSorted(codes.Values) {
		f.invalid(here, codes.Values, "must be ordered")
	}
}

func validateJobUpdate(j, old *batchv1.Job) field.ErrorList {
	f, at := Findings{ValidateMetadataUpdate(j, old)}, field.NewPath("spec")
	now, was := &j.Spec, &old.Spec
	f.job(now, at)
	f.jobSelector(now, at)
	if Deref(now.CompletionMode) != batchv1.IndexedCompletion {
		f.immutable(at.Child("completions"), now.Completions, was.Completions)
	} else if now.Completions != nil && !equality.Semantic.DeepEqual(now.Completions, was.Completions) && *now.Completions != Deref(now.Parallelism) {
		f.invalid(at.Child("completions"), now.Completions, "can only be modified in tandem with spec.parallelism")
	}
	f.immutable(at.Child("selector"), now.Selector, was.Selector)
	f.jobTemplate(j, old, at)
	f.immutable(at.Child("completionMode"), now.CompletionMode, was.CompletionMode)
	f.immutable(at.Child("podFailurePolicy"), now.PodFailurePolicy, was.PodFailurePolicy)
	f.immutable(at.Child("backoffLimitPerIndex"), now.BackoffLimitPerIndex, was.BackoffLimitPerIndex)
	f.immutable(at.Child("managedBy"), now.ManagedBy, was.ManagedBy)
	f.immutable(at.Child("successPolicy"), now.SuccessPolicy, was.SuccessPolicy)
	f.indexedName(j)
	return f.List
}

// jobTemplate checks that the template stays, but for where the pods of a suspended job will run and what they get.
func (f *Findings) jobTemplate(j, old *batchv1.Job, at *field.Path) {
	now, was := &j.Spec.Template, old.Spec.Template.DeepCopy()
	if !Deref(old.Spec.Suspend) || old.Status.StartTime != nil && !jobConditionTrue(old, batchv1.JobSuspended) || old.Status.Active != 0 {
		f.immutable(at.Child("template"), now, was)
		return
	}
	if now.Spec.Affinity != nil || was.Spec.Affinity != nil {
		SetPointer(&was.Spec.Affinity, corev1.Affinity{})
		was.Spec.Affinity.NodeAffinity = nil
		if now.Spec.Affinity != nil {
			was.Spec.Affinity.NodeAffinity = now.Spec.Affinity.NodeAffinity
		} else if *was.Spec.Affinity == (corev1.Affinity{}) {
			was.Spec.Affinity = nil
		}
	}
	was.Spec.NodeSelector, was.Spec.Tolerations, was.Annotations, was.Labels, was.Spec.SchedulingGates = now.Spec.NodeSelector, now.Spec.Tolerations, now.Annotations, now.Labels, now.Spec.SchedulingGates
	resources := func(now, was []corev1.Container) {
		if len(now) != len(was) {
			return
		}
		for i := range now {
			if now[i].Name == was[i].Name {
				was[i].Resources = now[i].Resources
			}
		}
	}
	resources(now.Spec.Containers, was.Spec.Containers)
	resources(now.Spec.InitContainers, was.Spec.InitContainers)
	f.immutable(at.Child("template.spec"), now.Spec, was.Spec)
}
