package fakecontrollers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// cronJobs creates the Jobs of CronJobs at the scheduled times.
var cronJobs = Controller{"cronjob-controller", func(m *manager.Manager) error {
	jobs, err := newOwned(m, &batchv1.Job{})
	if err != nil {
		return err
	}
	p := &cronJobController{m.Client(), jobs}
	return controller.For[*batchv1.CronJob](m).Named("cronjob-controller").Owns(&batchv1.Job{}).
		Complete(byName[batchv1.CronJob](m.Client(), p.reconcile))
}}

type cronJobController struct {
	client.Client
	jobs *owned[*batchv1.Job]
}

func (p *cronJobController) reconcile(ctx context.Context, cron *batchv1.CronJob) (reconcile.Result, error) {
	jobs, err := p.jobs.by(ctx, cron.Namespace, cron.UID)
	if err != nil || cron.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	before := cron.DeepCopy()
	active := noteJobs(cron, jobs)
	if err := p.forget(ctx, cron, jobs); err != nil {
		return reconcile.Result{}, err
	}
	again, err := p.schedule(ctx, cron, active)
	if err := writeStatus(ctx, p.Client, before, cron); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, unlessTerminating(err)
}

// noteJobs sets the running Jobs in the status, and returns them.
func noteJobs(cron *batchv1.CronJob, jobs []*batchv1.Job) (active []*batchv1.Job) {
	cron.Status.Active = nil
	for _, job := range jobs {
		w := &work{Job: job}
		switch {
		case !w.finished():
			active = append(active, job)
			noteActive(cron, job)
		case job.Status.CompletionTime != nil && (cron.Status.LastSuccessfulTime == nil ||
			cron.Status.LastSuccessfulTime.Before(job.Status.CompletionTime)):
			cron.Status.LastSuccessfulTime = job.Status.CompletionTime
		}
	}
	return active
}

func noteActive(cron *batchv1.CronJob, job *batchv1.Job) {
	cron.Status.Active = append(cron.Status.Active, corev1.ObjectReference{
		APIVersion: "batch/v1", Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		ResourceVersion: job.ResourceVersion,
	})
}

// forget deletes the oldest finished Jobs beyond the limits of the history.
func (p *cronJobController) forget(ctx context.Context, cron *batchv1.CronJob, jobs []*batchv1.Job) error {
	for kind, limit := range map[batchv1.JobConditionType]*int32{
		batchv1.JobComplete: cron.Spec.SuccessfulJobsHistoryLimit, batchv1.JobFailed: cron.Spec.FailedJobsHistoryLimit,
	} {
		if limit == nil {
			continue
		}
		ended := slices.DeleteFunc(slices.Clone(jobs), func(job *batchv1.Job) bool {
			return !(&work{Job: job}).is(kind) ||
				job.DeletionTimestamp != nil
		})
		slices.SortFunc(ended, func(a, b *batchv1.Job) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		err := each(ended[:max(0, len(ended)-int(*limit))], func(job *batchv1.Job) error { return p.delete(ctx, job) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *cronJobController) delete(ctx context.Context, job *batchv1.Job) error {
	return controllerutil.DeleteWithUID(ctx, p.Client, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// schedule creates the Job of the latest due time, and returns the delay until the next scheduled time. It skips
// earlier due times.
func (p *cronJobController) schedule(ctx context.Context, cron *batchv1.CronJob,
	active []*batchv1.Job) (again time.Duration, err error) {
	if cron.Spec.Suspend != nil && *cron.Spec.Suspend {
		return 0, nil
	}
	times, err := parseSchedule(cron.Spec.Schedule, cron.Spec.TimeZone)
	if err != nil {
		return 0, nil // the API server rejects invalid schedules, except in objects that were written to its storage
	}
	now, since := time.Now(), cron.CreationTimestamp.Time
	if last := cron.Status.LastScheduleTime; last != nil {
		since = last.Time
	}
	if limit := cron.Spec.StartingDeadlineSeconds; limit != nil {
		if earliest := now.Add(-time.Duration(*limit) * time.Second); earliest.After(since) {
			since = earliest
		}
	}
	var due time.Time
	next := times.next(since)
	for ; !next.IsZero() && !next.After(now); next = times.next(next) {
		due = next
	}
	if !next.IsZero() {
		again = max(time.Until(next), time.Millisecond)
	}
	if due.IsZero() {
		return again, nil
	}
	return again, p.begin(ctx, cron, active, due)
}

// begin creates the Job of a scheduled time if the concurrency policy allows it.
func (p *cronJobController) begin(ctx context.Context, cron *batchv1.CronJob, active []*batchv1.Job,
	due time.Time) error {
	switch {
	case cron.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(active) > 0:
		return nil
	case cron.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
		if err := each(active, func(job *batchv1.Job) error { return p.delete(ctx, job) }); err != nil {
			return err
		}
		cron.Status.Active = nil
	}
	template := cron.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cron.Namespace, Name: cron.Name + "-" + strconv.FormatInt(due.Unix()/60, 10), Labels: template.Labels,
			Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
	stamp := due.UTC()
	if zone, err := time.LoadLocation(valueOr(cron.Spec.TimeZone, "")); cron.Spec.TimeZone != nil && err == nil {
		stamp = due.In(zone)
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, batchv1.CronJobScheduledTimestampAnnotation, stamp.Format(time.RFC3339))
	switch err := createOwned(ctx, p.Client, cron, job); {
	case apierrors.IsAlreadyExists(err): // an earlier attempt created the Job, but did not write the status
	case err != nil:
		return err
	default:
		noteActive(cron, job)
	}
	cron.Status.LastScheduleTime = &metav1.Time{Time: due}
	return nil
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// schedule is a parsed cron expression: each of the five fields is a set of bits, with one bit per value.
type schedule struct {
	minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                bool
	every                             time.Duration // instead of the fields above
	zone                              *time.Location
}

var descriptors = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var (
	monthNames = strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")
	dayNames   = strings.Fields("sun mon tue wed thu fri sat")
)

// parseSchedule parses a schedule that the API server accepted.
func parseSchedule(text string, zone *string) (s schedule, err error) {
	for _, prefix := range []string{"TZ=", "CRON_TZ="} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			name, rest, _ := strings.Cut(rest, " ")
			zone, text = &name, strings.TrimSpace(rest)
		}
	}
	s.zone = time.UTC // kube-controller-manager's default time zone
	if zone != nil {
		if s.zone, err = time.LoadLocation(*zone); err != nil {
			return s, err
		}
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		s.every, err = time.ParseDuration(every)
		s.every = max(s.every.Truncate(time.Second), time.Second)
		return s, err
	}
	if fields, ok := descriptors[text]; ok {
		text = fields
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return s, fmt.Errorf("expected exactly 5 fields, found %d", len(fields))
	}
	for i, f := range []struct {
		bits        *uint64
		least, most int
		names       []string
	}{{&s.minute, 0, 59, nil}, {&s.hour, 0, 23, nil}, {&s.day, 1, 31, nil}, {&s.month, 1, 12, monthNames},
		{&s.weekday, 0, 6, dayNames}} {
		for part := range strings.SplitSeq(fields[i], ",") {
			bits, err := parseRange(part, f.least, f.most, f.names)
			if err != nil {
				return s, err
			}
			*f.bits |= bits
		}
	}
	isAny := func(field string) bool {
		return slices.ContainsFunc(strings.Split(field, ","),
			func(part string) bool { return strings.Trim(strings.TrimSuffix(part, "/1"), "*?") == "" })
	}
	s.anyDay, s.anyWeekday = isAny(fields[2]), isAny(fields[4])
	return s, nil
}

// parseRange parses *, or a value such as 3, or a range such as 3-5 or mon-fri. Each can end in a slash and a step.
func parseRange(text string, least, most int, names []string) (bits uint64, err error) {
	number := func(text string) int {
		if i := slices.Index(names, strings.ToLower(text)); i >= 0 {
			return i + least
		}
		n, failure := strconv.Atoi(text)
		err = cmp.Or(err, failure)
		return n
	}
	ends, stepText, stepped := strings.Cut(text, "/")
	step, from, to := 1, least, most
	if stepped {
		step = number(stepText)
	}
	if ends != "*" && ends != "?" {
		first, last, isRange := strings.Cut(ends, "-")
		from = number(first)
		switch {
		case isRange:
			to = number(last)
		case !stepped:
			to = from
		}
	}
	if err != nil || from < least || to > most || from > to || step < 1 {
		return 0, fmt.Errorf("%q is not a valid part of a schedule", text)
	}
	for ; from <= to; from += step {
		bits |= 1 << from
	}
	return bits, nil
}

func has(bits uint64, n int) bool { return bits&(1<<n) != 0 }

// onDay reports whether the schedule has times on the day of t. If both the day and the weekday are restricted, it is
// enough that one of them matches.
func (s schedule) onDay(t time.Time) bool {
	day, weekday := has(s.day, t.Day()), has(s.weekday, int(t.Weekday()))
	if s.anyDay || s.anyWeekday {
		return has(s.month, int(t.Month())) && day && weekday
	}
	return has(s.month, int(t.Month())) && (day || weekday)
}

// next returns the first time after t, or the zero time if there is none within five years.
func (s schedule) next(t time.Time) time.Time {
	if s.every > 0 {
		return t.Truncate(time.Second).Add(s.every)
	}
	local := t.In(s.zone)
	for day := range 5 * 366 {
		date := time.Date(local.Year(), local.Month(), local.Day()+day, 12, 0, 0, 0, s.zone)
		if !s.onDay(date) {
			continue
		}
		for hour := range 24 {
			for minute := range 60 {
				if !has(s.hour, hour) || !has(s.minute, minute) {
					continue
				}
				at := time.Date(date.Year(), date.Month(), date.Day(), hour, minute, 0, 0, s.zone)
				if at.Hour() == hour && at.After(t) { // skip an hour that does not exist because the clock was set forward
					return at
				}
			}
		}
	}
	return time.Time{}
}
