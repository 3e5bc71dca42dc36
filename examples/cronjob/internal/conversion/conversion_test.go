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

package conversion_test

import (
	"math/rand/v2"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversiontest"

	batchv1 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v1"
	batchv2 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v2"
	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/conversion"
)

func TestConversionLosesNothing(t *testing.T) {
	conversiontest.RoundTrip(t, conversion.V1)
}

// TestNoScheduleIsLost converts typical schedules, which random values rarely contain.
func TestNoScheduleIsLost(t *testing.T) {
	texts := []string{"", "*", "5", "*/15", "1-5", "MON,WED", "@hourly", "@every 90m", "* * * * *", "0 3 * * 1",
		" 0 3 * * 1", "0  3 * * 1", "0\t3 * * 1"}
	pick := func(r *rand.Rand) string { return texts[r.IntN(len(texts))] }
	conversiontest.RoundTrip(t, conversion.V1, conversiontest.Runs(300),
		conversiontest.Fill(func(r *rand.Rand, s *batchv1.CronJobSpec) { s.Schedule = pick(r) }),
		conversiontest.Fill(func(r *rand.Rand, f *batchv2.CronField) { *f = batchv2.CronField(pick(r)) }),
	)
}

// TestLaterV1ChangeWins writes a value in v2 that v1 cannot express, and changes it in v1.
func TestLaterV1ChangeWins(t *testing.T) {
	hub := &batchv2.CronJob{Spec: batchv2.CronJobSpec{Schedule: batchv2.CronSchedule{Hour: "3"}}}
	spoke := &batchv1.CronJob{}
	if err := conversion.V1.FromHub(t.Context(), hub, spoke); err != nil {
		t.Fatal(err)
	}
	if spoke.Spec.Schedule != "* 3 * * *" || len(spoke.Annotations) != 1 {
		t.Fatalf("as v1 it is %q with %v", spoke.Spec.Schedule, spoke.Annotations)
	}
	spoke.Spec.Schedule = "* 4 * * *"
	back := &batchv2.CronJob{}
	if err := conversion.V1.ToHub(t.Context(), spoke, back); err != nil {
		t.Fatal(err)
	}
	want := batchv2.CronSchedule{Minute: "*", Hour: "4", DayOfMonth: "*", Month: "*", DayOfWeek: "*"}
	if back.Spec.Schedule != want || len(back.Annotations) != 0 {
		t.Errorf("back it is %+v with %v", back.Spec.Schedule, back.Annotations)
	}
}

func TestInvalidAnnotationIsAnError(t *testing.T) {
	spoke := &batchv1.CronJob{}
	spoke.Annotations = map[string]string{"conversion.kctrl.dev/kept": "{"}
	if err := conversion.V1.ToHub(t.Context(), spoke, &batchv2.CronJob{}); err == nil {
		t.Error("what cannot be read is converted")
	}
}
