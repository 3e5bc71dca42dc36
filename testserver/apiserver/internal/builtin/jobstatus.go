package builtin

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the status of a job may be, and become: who controls jobs may not be the controller of Kubernetes, so the server is strict.

func validateJobStatus(j, old *batchv1.Job) field.ErrorList {
	f, s, was, at := Findings{ValidateMetadataUpdate(j, old)}, j.Status, old.Status, field.NewPath("status")
	f.counters(at, counter{"active", int64(s.Active)}, counter{"succeeded", int64(s.Succeeded)}, counter{"failed", int64(s.Failed)})
	f.notNegativeIfSet(at.Child("ready"), s.Ready)
	f.notNegativeIfSet(at.Child("terminating"), s.Terminating)
	f.uncountedPods(s.UncountedTerminatedPods, at.Child("uncountedTerminatedPods"))
	f.jobConditions(j, old, at.Child("conditions"))
	complete := jobConditionTrue(j, batchv1.JobComplete)
	completeChanged := complete != jobConditionTrue(old, batchv1.JobComplete)
	completionChanged := !equality.Semantic.DeepEqual(s.CompletionTime, was.CompletionTime)
	startChanged := !equality.Semantic.DeepEqual(s.StartTime, was.StartTime)
	if (completeChanged || completionChanged) && s.CompletionTime != nil && !complete {
		f.invalid(at.Child("completionTime"), s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
	}
	if (completeChanged || completionChanged) && s.CompletionTime == nil && complete {
		f.Required(at.Child("completionTime"), "completionTime is required for Complete jobs")
	}
	if (startChanged || completionChanged) && s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		f.invalid(at.Child("completionTime"), s.CompletionTime, "must be equal to or after `startTime`")
	}
	if s.CompletionTime != nil && was.CompletionTime != nil && completionChanged {
		f.invalid(at.Child("completionTime"), s.CompletionTime, "field is immutable")
	}
	resuming := jobCondition(old, batchv1.JobSuspended, corev1.ConditionTrue) && jobCondition(j, batchv1.JobSuspended, corev1.ConditionFalse)
	if was.StartTime != nil && startChanged && !resuming && !Deref(j.Spec.Suspend) {
		f.invalid(at.Child("startTime"), s.StartTime, "field is immutable for unsuspended job once set")
	}
	f.finishedJob(j, old, at)
	if s.Ready != nil && *s.Ready > s.Active && (!equality.Semantic.DeepEqual(s.Ready, was.Ready) || s.Active != was.Active) {
		f.invalid(at.Child("ready"), *s.Ready, "cannot set more ready pods than active")
	}
	f.jobIndexes(j, old, at)
	if s.Failed < was.Failed {
		f.invalid(at.Child("failed"), s.Failed, "cannot decrease the failed counter")
	}
	elastic := Deref(j.Spec.CompletionMode) == batchv1.IndexedCompletion && equality.Semantic.DeepEqual(j.Spec.Completions, j.Spec.Parallelism)
	if s.Succeeded < was.Succeeded && !elastic {
		f.invalid(at.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter")
	}
	return f.List
}

func (f *Findings) uncountedPods(uncounted *batchv1.UncountedTerminatedPods, at *field.Path) {
	if uncounted == nil {
		return
	}
	known := sets.New[types.UID]()
	for _, pods := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", uncounted.Succeeded}, {"failed", uncounted.Failed}} {
		for i, uid := range pods.uids {
			switch here := at.Child(pods.name).Index(i); {
			case uid == "":
				f.invalid(here, uid, "must not be empty")
			case known.Has(uid):
				f.Add(field.Duplicate(here, uid))
			}
			known.Insert(uid)
		}
	}
}

// jobConditions checks which conditions a job has at once, and which of them may change.
func (f *Findings) jobConditions(j, old *batchv1.Job, at *field.Path) {
	is := func(kind batchv1.JobConditionType) bool { return jobConditionTrue(j, kind) }
	was := func(kind batchv1.JobConditionType) bool { return jobConditionTrue(old, kind) }
	changed := func(kind batchv1.JobConditionType) bool { return is(kind) != was(kind) }
	const complete, failed, target, met = batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet
	wrong := func(wrong bool, message string) {
		if wrong {
			f.invalid(at, field.OmitValueType{}, message)
		}
	}
	indexesChanged := !equality.Semantic.DeepEqual(j.Status.FailedIndexes, old.Status.FailedIndexes)
	wrong((changed(complete) || changed(failed)) && is(complete) && is(failed), "cannot set Complete=True and Failed=true conditions")
	wrong((changed(complete) || changed(target)) && is(complete) && is(target), "cannot set Complete=True and FailureTarget=true conditions")
	wrong((changed(failed) || indexesChanged) && is(failed) && !is(target), "cannot set Failed=True condition without the FailureTarget=true condition")
	wrong((changed(complete) || changed(met)) && is(complete) && !is(met), "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	wrong(is(met) && is(failed), "cannot set SuccessCriteriaMet=True and Failed=true conditions")
	wrong(is(met) && is(target), "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	wrong(j.Spec.SuccessPolicy != nil && !is(met) && is(complete), "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	for _, kind := range []batchv1.JobConditionType{failed, complete, target} {
		wrong(was(kind) && !is(kind), fmt.Sprintf("cannot disable the terminal %s=True condition", kind))
	}
	wrong(was(met) && !is(met), "cannot disable the SuccessCriteriaMet=True condition")
	wrong(was(complete) && !was(met) && is(met), "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
}

// finishedJob checks what a job that has finished cannot have.
func (f *Findings) finishedJob(j, old *batchv1.Job, at *field.Path) {
	finished := func(j *batchv1.Job) bool {
		return jobConditionTrue(j, batchv1.JobComplete) || jobConditionTrue(j, batchv1.JobFailed)
	}
	if !finished(j) {
		return
	}
	s, was := j.Status, old.Status
	differ := func(now, was any) bool { return !finished(old) || !equality.Semantic.DeepEqual(now, was) }
	if s.Active > 0 && differ(s.Active, was.Active) {
		f.invalid(at.Child("active"), s.Active, "active>0 is invalid for finished job")
	}
	nothingToDo := Deref(j.Spec.Suspend) && j.Spec.Completions != nil && *j.Spec.Completions == 0
	if s.StartTime == nil && differ(s.StartTime, was.StartTime) && !nothingToDo {
		f.Required(at.Child("startTime"), "startTime is required for finished job")
	}
	if pods := s.UncountedTerminatedPods; pods != nil && len(pods.Failed)+len(pods.Succeeded) > 0 && differ(pods, was.UncountedTerminatedPods) {
		f.invalid(at.Child("uncountedTerminatedPods"), pods, "must be empty for finished job")
	}
	if Deref(s.Terminating) > 0 && differ(s.Terminating, was.Terminating) {
		f.invalid(at.Child("terminating"), s.Terminating, "terminating>0 is invalid for finished job")
	}
}

// jobIndexes checks the indexes that have completed, and that have failed.
func (f *Findings) jobIndexes(j, old *batchv1.Job, at *field.Path) {
	completed, failed := j.Status.CompletedIndexes, j.Status.FailedIndexes
	completedChanged, failedChanged := completed != old.Status.CompletedIndexes, !equality.Semantic.DeepEqual(failed, old.Status.FailedIndexes)
	if completedChanged && j.Spec.Completions != nil {
		if _, err := countIndexes(completed, *j.Spec.Completions); err != nil {
			f.invalid(at.Child("completedIndexes"), completed, fmt.Sprintf("error parsing completedIndexes: %s", err))
		}
	}
	if completedChanged && completed != "" && Deref(j.Spec.CompletionMode) != batchv1.IndexedCompletion {
		f.invalid(at.Child("completedIndexes"), completed, "cannot set non-empty completedIndexes when non-indexed completion mode")
	}
	if failed == nil {
		return
	}
	if failedChanged && j.Spec.Completions != nil && j.Spec.BackoffLimitPerIndex != nil {
		if _, err := countIndexes(*failed, *j.Spec.Completions); err != nil {
			f.invalid(at.Child("failedIndexes"), failed, fmt.Sprintf("error parsing failedIndexes: %s", err))
		}
	}
	if failedChanged && j.Spec.BackoffLimitPerIndex == nil {
		f.invalid(at.Child("failedIndexes"), *failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	}
	if (completedChanged || failedChanged) && j.Spec.Completions != nil {
		if index, both := inBoth(completed, *failed, *j.Spec.Completions); both {
			f.invalid(at.Child("failedIndexes"), *failed, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", index))
		}
	}
}

// interval are the indexes from first to last.
type interval struct{ first, last int }

// parseInterval is one as a status has it, which is below completions.
func parseInterval(text string, completions int32) (interval, error) {
	ends := strings.Split(text, "-")
	if len(ends) > 2 {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	var numbers []int
	for _, end := range ends {
		number, err := strconv.Atoi(end)
		if err != nil {
			return interval{}, fmt.Errorf("cannot convert string to integer for index: %q", end)
		}
		if number >= int(completions) {
			return interval{}, fmt.Errorf("too large index: %q", end)
		}
		numbers = append(numbers, number)
	}
	parsed := interval{numbers[0], numbers[len(numbers)-1]}
	if len(numbers) == 2 && parsed.first >= parsed.last {
		return interval{}, fmt.Errorf("non-increasing order, previous: %d, current: %d", parsed.first, parsed.last)
	}
	return parsed, nil
}

// countIndexes is how many indexes are in intervals, each of which begins after the one before.
func countIndexes(text string, completions int32) (count int, err error) {
	if text == "" {
		return 0, nil
	}
	last := math.MinInt
	for one := range strings.SplitSeq(text, ",") {
		parsed, err := parseInterval(one, completions)
		if err != nil {
			return 0, err
		}
		if last >= parsed.first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, parsed.first)
		}
		count, last = count+parsed.last-parsed.first+1, parsed.last
	}
	return count, nil
}

// inBoth is the first index that two lists of intervals have, as far as these are right.
func inBoth(one, other string, completions int32) (index int, both bool) {
	parse := func(text string) (intervals []interval) {
		for one := range strings.SplitSeq(text, ",") {
			if parsed, err := parseInterval(one, completions); err == nil {
				intervals = append(intervals, parsed)
			}
		}
		return intervals
	}
	for a, b := parse(one), parse(other); len(a) > 0 && len(b) > 0; {
		switch {
		case a[0].first <= b[0].last && b[0].first <= a[0].last:
			return max(a[0].first, b[0].first), true
		case a[0].first <= b[0].first:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return 0, false
}
