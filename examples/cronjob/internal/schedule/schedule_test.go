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

package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/schedule"
)

func mustParse(t *testing.T, text, zone string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestLastDueRunIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, zone, since, earliest, now, want, next string
	}{
		"nothing is due": {
			"0 * * * *", "", "2030-01-01T10:00:00Z", "", "2030-01-01T10:59:59Z", "", "2030-01-01T11:00:00Z"},
		"due to the second": {
			"0 * * * *", "", "2030-01-01T10:00:00Z", "", "2030-01-01T11:00:00Z", "2030-01-01T11:00:00Z", "2030-01-01T12:00:00Z"},
		"of several the last": {
			"*/10 * * * *", "", "2030-01-01T10:00:00Z", "", "2030-01-01T10:35:00Z", "2030-01-01T10:30:00Z",
			"2030-01-01T10:40:00Z"},
		"as many as may be due": {
			"* * * * *", "", "2030-01-01T10:00:00Z", "", "2030-01-01T11:40:59Z", "2030-01-01T11:40:00Z", "2030-01-01T11:41:00Z"},
		"the clock was set back": {
			"0 * * * *", "", "2030-01-01T10:00:00Z", "", "2029-01-01T10:00:00Z", "", "2030-01-01T11:00:00Z"},
		"too late": {
			"0 * * * *", "", "2030-01-01T10:00:00Z", "2030-01-01T11:00:01Z", "2030-01-01T11:05:00Z", "", "2030-01-01T12:00:00Z"},
		"late to the second": {
			"0 * * * *", "", "2030-01-01T10:00:00Z", "2030-01-01T11:00:00Z", "2030-01-01T11:05:00Z", "2030-01-01T11:00:00Z",
			"2030-01-01T12:00:00Z"},
		"years that nobody asks about": {
			"* * * * *", "", "2020-01-01T10:00:00Z", "2030-01-01T11:00:00Z", "2030-01-01T11:05:00Z", "2030-01-01T11:05:00Z",
			"2030-01-01T11:06:00Z"},
		"every 90 minutes": {
			"@every 90m", "", "2030-01-01T10:00:00Z", "", "2030-01-01T13:05:00Z", "2030-01-01T13:00:00Z",
			"2030-01-01T14:30:00Z"},
		"every 90 minutes, since the last run": {
			"@every 90m", "", "2020-01-01T10:00:00Z", "2030-01-01T12:30:00Z", "2030-01-01T13:05:00Z", "2030-01-01T13:00:00Z",
			"2030-01-01T14:30:00Z"},
		"every 90 minutes, late to the second": {
			"@every 90m", "", "2030-01-01T10:00:00Z", "2030-01-01T13:00:00Z", "2030-01-01T13:05:00Z", "2030-01-01T13:00:00Z",
			"2030-01-01T14:30:00Z"},
		"every 90 minutes, too late": {
			"@every 90m", "", "2030-01-01T10:00:00Z", "2030-01-01T13:00:01Z", "2030-01-01T13:05:00Z", "",
			"2030-01-01T14:30:00Z"},
		"another zone": {
			"0 6 * * *", "Asia/Tokyo", "2030-01-01T00:00:00Z", "", "2030-01-01T22:00:00Z", "2030-01-01T21:00:00Z",
			"2030-01-02T21:00:00Z"},
		"an hour that there is not": {
			"30 2 * * *", "Europe/Berlin", "2030-03-30T12:00:00Z", "", "2030-03-31T12:00:00Z", "", "2030-04-01T00:30:00Z"},
		"an hour that there is twice": {
			"30 2 * * *", "Europe/Berlin", "2030-10-26T12:00:00Z", "", "2030-10-27T01:00:00Z", "2030-10-27T00:30:00Z",
			"2030-10-27T01:30:00Z"},
		"the leap day": {
			"0 0 29 2 *", "", "2028-02-29T00:00:00Z", "", "2032-03-01T00:00:00Z", "2032-02-29T00:00:00Z",
			"2036-02-29T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			due, next, err := mustParse(t, c.schedule, c.zone).Due(at(t, c.since), at(t, c.earliest), at(t, c.now))
			if err != nil || !due.Equal(at(t, c.want)) || !next.Equal(at(t, c.next)) {
				t.Errorf("due is %v, and next %v (%v), want %v and %v", due.UTC(), next.UTC(), err, c.want, c.next)
			}
		})
	}
}

func TestTooManyMissedRunsAreAnError(t *testing.T) {
	s := mustParse(t, "* * * * *", "")
	since := at(t, "2030-01-01T10:00:00Z")
	now := since.Add((schedule.MaxMissed + 1) * time.Minute)
	if _, _, err := s.Due(since, time.Time{}, now); !errors.Is(err, schedule.ErrTooManyMissed) {
		t.Errorf("Due = %v, want ErrTooManyMissed", err)
	}
	// A deadline reduces their number.
	if due, _, err := s.Due(since, now.Add(-time.Hour), now); err != nil || !due.Equal(now) {
		t.Errorf("Due = %v, %v, want %v", due, err, now)
	}
	// The cost does not depend on the number of runs.
	if _, _, err := mustParse(t, "@every 1s", "").Due(time.Unix(0, 0), time.Time{}, since); !errors.Is(err,
		schedule.ErrTooManyMissed) {
		t.Errorf("Due = %v, want ErrTooManyMissed", err)
	}
}

// TestWaitingForEachRunMissesNone waits from one run to the next for a day of virtual time, and misses no run.
func TestWaitingForEachRunMissesNone(t *testing.T) {
	for _, text := range []string{"*/15 * * * *", "@hourly", "@every 7m", "5,6,7 8-17/3 * * *"} {
		synctest.Test(t, func(t *testing.T) {
			s := mustParse(t, text, "America/New_York")
			start := time.Now()
			for last := start; last.Before(start.Add(24 * time.Hour)); {
				next := s.Next(time.Now())
				time.Sleep(time.Until(next))
				due, _, err := s.Due(last, time.Time{}, time.Now())
				if err != nil || !due.Equal(next) {
					t.Fatalf("%s: at %v the run %v is due, %v", text, next, due, err)
				}
				last = due
			}
		})
	}
}

func TestInvalidScheduleIsRejected(t *testing.T) {
	for _, c := range []struct{ text, zone, want string }{
		{"", "", "empty spec string"},
		{"61 * * * *", "", "end of range (61) above maximum (59)"},
		{"* * * *", "", "expected exactly 5 fields"},
		{"@yesterday", "", "unrecognized descriptor"},
		{"0 0 30 2 *", "", "there is no such time"},
		{"TZ=UTC * * * * *", "", "the time zone is a field of its own"},
		{"CRON_TZ=UTC * * * * *", "", "the time zone is a field of its own"},
		{"* * * * *", "Europe/Atlantis", "unknown time zone Europe/Atlantis"},
		{"* * * * *", "Local", "unknown time zone Local"},
		{"* * * * *", "../../etc/passwd", "time: invalid location name"},
	} {
		if _, err := schedule.Parse(c.text, c.zone); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %v, want %q", c.text, c.zone, err, c.want)
		}
	}
}
