package builtin

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CronJobs are the kind CronJob.
func CronJobs() Kind {
	doc := batchv1.CronJobSpec{}.SwaggerDoc()
	template := func(c *batchv1.CronJob) *corev1.PodTemplateSpec { return &c.Spec.JobTemplate.Spec.Template }
	check := func(c *batchv1.CronJob, old *batchv1.CronJob) field.ErrorList {
		var f Findings
		f.cronJob(c, old)
		return f.List
	}
	warnings := func(c *batchv1.CronJob) []string {
		var warnings []string
		if strings.Contains(c.Spec.Schedule, "TZ") {
			warnings = append(warnings, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
		}
		return append(warnings, jobWarnings(&c.Spec.JobTemplate.Spec, field.NewPath("spec", "jobTemplate", "spec"))...)
	}
	return Kind{
		GVK: batchV1.WithKind("CronJob"), Resource: "cronjobs", Short: []string{"cj"}, Categories: []string{"all"}, Namespaced: true,
		Columns: append(append([]Column{
			Col("Schedule", "string", doc["schedule"], func(c *batchv1.CronJob) any { return c.Spec.Schedule }),
			Col("Timezone", "string", doc["timeZone"], func(c *batchv1.CronJob) any {
				if c.Spec.TimeZone == nil {
					return "<none>"
				}
				return *c.Spec.TimeZone
			}),
			Col("Suspend", "boolean", doc["suspend"], func(c *batchv1.CronJob) any {
				if Deref(c.Spec.Suspend) {
					return "True"
				}
				return "False"
			}),
			Col("Active", "integer", batchv1.CronJobStatus{}.SwaggerDoc()["active"], func(c *batchv1.CronJob) any { return int64(len(c.Status.Active)) }),
			Col("Last Schedule", "string", batchv1.CronJobStatus{}.SwaggerDoc()["lastScheduleTime"], func(c *batchv1.CronJob) any {
				if c.Status.LastScheduleTime == nil {
					return "<none>"
				}
				return since(*c.Status.LastScheduleTime)
			}),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", batchv1.JobSpec{}.SwaggerDoc()["selector"], func(c *batchv1.CronJob) any { return metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector) })),
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(c *batchv1.CronJob) any { return c.Spec }),
			Create: Change1(func(c *batchv1.CronJob) { c.Status = batchv1.CronJobStatus{} }),
			Update: Change2(func(c, old *batchv1.CronJob) { c.Status = old.Status }),
			Validate: Typed1(func(c *batchv1.CronJob) field.ErrorList {
				f := Findings{append(ValidateMetadata(&c.ObjectMeta, true, validation.NameIsDNSSubdomain), check(c, nil)...)}
				if len(c.Name) > 52 {
					f.invalid(field.NewPath("metadata", "name"), c.Name, "must be no more than 52 characters")
				}
				return f.List
			}),
			ValidateUpdate: Typed2(func(c, old *batchv1.CronJob) field.ErrorList {
				return append(ValidateMetadataUpdate(c, old), check(c, old)...)
			}),
			Warnings: Typed1(func(c *batchv1.CronJob) []string {
				return append(dnsLabelWarning(c.Name, "Pod names and hostnames"), warnings(c)...)
			}),
			UpdateWarnings: Typed2(func(c, old *batchv1.CronJob) []string {
				if c.Generation == old.Generation {
					return nil
				}
				return warnings(c)
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update:         Change2(func(c, old *batchv1.CronJob) { c.Spec = old.Spec }),
			ValidateUpdate: func(runtime.Object, runtime.Object) field.ErrorList { return nil },
		},
	}
}

var zonePart = regexp.MustCompile(`^[A-Za-z\.\-_0-9+]{1,14}$`)

func (f *Findings) cronJob(c, old *batchv1.CronJob) {
	spec, at := &c.Spec, field.NewPath("spec")
	if spec.Schedule == "" {
		f.Required(at.Child("schedule"), "")
	} else {
		if problem := cronProblem(spec.Schedule); problem != "" {
			f.invalid(at.Child("schedule"), spec.Schedule, problem)
		}
		switch earlier := old != nil && strings.Contains(old.Spec.Schedule, "TZ"); {
		case strings.Contains(spec.Schedule, "TZ") && !earlier:
			f.invalid(at.Child("schedule"), spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
		case strings.Contains(spec.Schedule, "TZ") && spec.TimeZone != nil:
			f.invalid(at.Child("schedule"), spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
		}
	}
	if spec.StartingDeadlineSeconds != nil {
		f.notNegative(at.Child("startingDeadlineSeconds"), *spec.StartingDeadlineSeconds)
	}
	if old == nil || !equality.Semantic.DeepEqual(spec.TimeZone, old.Spec.TimeZone) {
		f.timeZone(spec.TimeZone, at.Child("timeZone"))
	}
	oneOfListed(f, at.Child("concurrencyPolicy"), spec.ConcurrencyPolicy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
	job, here := &spec.JobTemplate.Spec, at.Child("jobTemplate", "spec")
	f.job(job, here)
	if job.Selector != nil {
		f.invalid(here.Child("selector"), job.Selector, "`selector` will be auto-generated")
	}
	if Deref(job.ManualSelector) {
		f.Add(field.NotSupported(here.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
	}
	f.notNegativeIfSet(at.Child("successfulJobsHistoryLimit"), spec.SuccessfulJobsHistoryLimit)
	f.notNegativeIfSet(at.Child("failedJobsHistoryLimit"), spec.FailedJobsHistoryLimit)
}

func (f *Findings) timeZone(zone *string, at *field.Path) {
	if zone == nil {
		return
	}
	if *zone == "" {
		f.invalid(at, zone, "timeZone must be nil or non-empty string")
		return
	}
	for part := range strings.SplitSeq(*zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			f.invalid(at, zone, "unknown time zone "+*zone)
			return
		}
	}
	if strings.EqualFold(*zone, "Local") {
		f.invalid(at, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		f.invalid(at, zone, err.Error())
	}
}

// cronProblem is what is wrong with a schedule in the format of cron, or nothing.
func cronProblem(schedule string) string {
	for _, prefix := range []string{"TZ=", "CRON_TZ="} {
		if rest, ok := strings.CutPrefix(schedule, prefix); ok {
			zone, rest, _ := strings.Cut(rest, " ")
			if _, err := time.LoadLocation(zone); err != nil {
				return fmt.Sprintf("provided bad location %s: %v", zone, err)
			}
			schedule = strings.TrimSpace(rest)
		}
	}
	if strings.HasPrefix(schedule, "@") {
		if every, ok := strings.CutPrefix(schedule, "@every "); ok {
			if _, err := time.ParseDuration(every); err != nil {
				return fmt.Sprintf("failed to parse duration %s: %s", schedule, err)
			}
			return ""
		}
		if !slices.Contains([]string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}, schedule) {
			return "unrecognized descriptor: " + schedule
		}
		return ""
	}
	parts := strings.Fields(schedule)
	if len(parts) != 5 {
		return fmt.Sprintf("expected exactly 5 fields, found %d: %s", len(parts), parts)
	}
	months := map[string]int{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
	days := map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
	for i, bounds := range []struct {
		least, most int
		names       map[string]int
	}{{0, 59, nil}, {0, 23, nil}, {1, 31, nil}, {1, 12, months}, {0, 6, days}} {
		for part := range strings.FieldsFuncSeq(parts[i], func(r rune) bool { return r == ',' }) {
			if problem := cronRangeProblem(part, bounds.least, bounds.most, bounds.names); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func cronRangeProblem(text string, least, most int, names map[string]int) string {
	number := func(text string) (int, string) {
		if named, ok := names[strings.ToLower(text)]; ok {
			return named, ""
		}
		value, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Sprintf("failed to parse int from %s: %s", text, err)
		}
		if value < 0 {
			return 0, fmt.Sprintf("negative number (%d) not allowed: %s", value, text)
		}
		return value, ""
	}
	steps := strings.Split(text, "/")
	ends := strings.Split(steps[0], "-")
	from, to := least, most
	if ends[0] != "*" && ends[0] != "?" {
		var problem string
		if from, problem = number(ends[0]); problem != "" {
			return problem
		}
		switch len(ends) {
		case 1:
			to = from
		case 2:
			if to, problem = number(ends[1]); problem != "" {
				return problem
			}
		default:
			return "too many hyphens: " + text
		}
	}
	step := 1
	switch len(steps) {
	case 1:
	case 2:
		var problem string
		if step, problem = number(steps[1]); problem != "" {
			return problem
		}
		if len(ends) == 1 && ends[0] != "*" {
			to = most
		}
	default:
		return "too many slashes: " + text
	}
	switch {
	case from < least:
		return fmt.Sprintf("beginning of range (%d) below minimum (%d): %s", from, least, text)
	case to > most:
		return fmt.Sprintf("end of range (%d) above maximum (%d): %s", to, most, text)
	case from > to:
		return fmt.Sprintf("beginning of range (%d) beyond end of range (%d): %s", from, to, text)
	case step == 0:
		return "step of range should be a positive number: " + text
	}
	return ""
}
