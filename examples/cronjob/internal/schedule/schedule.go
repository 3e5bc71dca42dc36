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

// Package schedule computes when the runs of a CronJob are due. It reads no clock and calls no API server.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a series of times. [Parse] creates it.
type Schedule struct {
	times cron.Schedule
	zone  *time.Location
}

// Parse parses a cron schedule. An empty zone means UTC. Parse returns an error for a schedule that never matches, such
// as the 30th of February.
func Parse(text, zone string) (Schedule, error) {
	if strings.Contains(text, "TZ=") {
		return Schedule{}, errors.New("the time zone is a field of its own")
	}
	location, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	times, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{times, location}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, errors.New("there is no such time")
	}
	return s, nil
}

// Zone returns the time zone with a name. The empty name means UTC. Zone rejects the local zone, because it differs
// between machines.
func Zone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "Local") {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	return time.LoadLocation(name)
}

// Next returns the first scheduled time after t.
func (s Schedule) Next(t time.Time) time.Time { return s.times.Next(t.In(s.zone)) }

// MaxMissed is the maximum number of runs that may be due at once. More runs indicate a wrong clock or a long outage;
// in this case, the user should set a starting deadline.
const MaxMissed = 100

// ErrTooManyMissed is the error that [Schedule.Due] returns if more than [MaxMissed] runs are due.
var ErrTooManyMissed = fmt.Errorf("more than %d runs are due", MaxMissed)

// Due returns the latest due time and the first scheduled time after now. The due time is later than since, and between
// earliest and now. It is zero if no run is due. An @every schedule counts from since, which is the time of the last
// run.
func (s Schedule) Due(since, earliest, now time.Time) (due, next time.Time, err error) {
	next = s.Next(s.skip(since, earliest))
	for missed := 0; !next.IsZero() && !next.After(now); next = s.Next(next) {
		if missed++; missed > MaxMissed {
			return time.Time{}, time.Time{}, ErrTooManyMissed
		}
		due = next
	}
	return due, next, nil
}

// skip returns a time after since and before the first due time that is not before earliest. It does not visit the
// times in between.
func (s Schedule) skip(since, earliest time.Time) time.Time {
	if !since.Before(earliest) {
		return since
	}
	if every, ok := s.times.(cron.ConstantDelaySchedule); ok {
		return since.Add((earliest.Sub(since) - 1) / every.Delay * every.Delay)
	}
	return earliest.Add(-1)
}
