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

// Package conversion converts between the versions of CronJob. The hub is v2, which the API server stores, and which
// the controller and the webhooks use.
package conversion

import (
	"context"
	"reflect"
	"strings"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"

	batchv1 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v1"
	batchv2 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v2"
)

// V1 converts the spoke v1.
var V1 = conversion.NewSpoke(v1FromV2, v1ToV2)

// kept contains the v2 fields that v1 cannot express. A schedule has several equivalent forms in v2; kept has the exact
// form.
type kept struct {
	Schedule *batchv2.CronSchedule `json:"schedule,omitempty"`
}

func v1FromV2(_ context.Context, hub *batchv2.CronJob, spoke *batchv1.CronJob) error {
	spoke.Spec = batchv1.CronJobSpec{
		Schedule:                   hub.Spec.Schedule.String(),
		TimeZone:                   hub.Spec.TimeZone,
		StartingDeadlineSeconds:    hub.Spec.StartingDeadlineSeconds,
		ConcurrencyPolicy:          batchv1.ConcurrencyPolicy(hub.Spec.ConcurrencyPolicy),
		Suspend:                    hub.Spec.Suspend,
		JobTemplate:                hub.Spec.JobTemplate,
		SuccessfulJobsHistoryLimit: hub.Spec.SuccessfulJobsHistoryLimit,
		FailedJobsHistoryLimit:     hub.Spec.FailedJobsHistoryLimit,
	}
	spoke.Status = batchv1.CronJobStatus(hub.Status)
	if reflect.DeepEqual(parse(spoke.Spec.Schedule), hub.Spec.Schedule) {
		return nil
	}
	return conversion.Keep(spoke, kept{&hub.Spec.Schedule})
}

func v1ToV2(_ context.Context, spoke *batchv1.CronJob, hub *batchv2.CronJob) error {
	hub.Spec = batchv2.CronJobSpec{
		Schedule:                   parse(spoke.Spec.Schedule),
		TimeZone:                   spoke.Spec.TimeZone,
		StartingDeadlineSeconds:    spoke.Spec.StartingDeadlineSeconds,
		ConcurrencyPolicy:          batchv2.ConcurrencyPolicy(spoke.Spec.ConcurrencyPolicy),
		Suspend:                    spoke.Spec.Suspend,
		JobTemplate:                spoke.Spec.JobTemplate,
		SuccessfulJobsHistoryLimit: spoke.Spec.SuccessfulJobsHistoryLimit,
		FailedJobsHistoryLimit:     spoke.Spec.FailedJobsHistoryLimit,
	}
	hub.Status = batchv2.CronJobStatus(spoke.Status)
	var was kept
	if err := conversion.Restore(spoke, &was); err != nil {
		return err
	}
	// If a v1 client has changed the schedule, the kept form is out of date.
	if was.Schedule != nil && was.Schedule.String() == spoke.Spec.Schedule {
		hub.Spec.Schedule = *was.Schedule
	}
	return nil
}

// parse converts a v1 schedule to v2. Five values separated by single spaces become fields, and any other string
// becomes an expression, so the conversion loses no information.
func parse(text string) batchv2.CronSchedule {
	fields := strings.Fields(text)
	if len(fields) != 5 || strings.Join(fields, " ") != text {
		return batchv2.CronSchedule{Expression: &text}
	}
	return batchv2.CronSchedule{
		Minute:     batchv2.CronField(fields[0]),
		Hour:       batchv2.CronField(fields[1]),
		DayOfMonth: batchv2.CronField(fields[2]),
		Month:      batchv2.CronField(fields[3]),
		DayOfWeek:  batchv2.CronField(fields[4]),
	}
}
