package fakecontrollers

import (
	"testing"
	"time"
)

func TestTimesOfSchedules(t *testing.T) {
	for _, test := range []struct{ schedule, zone, after, want string }{
		{"*/15 * * * *", "", "2026-11-22T10:15:00Z", "2026-11-22T10:30:00Z"},
		{"0 0 29 2 *", "", "2025-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"30 9 * * mon-fri", "", "2026-11-20T09:30:00Z", "2026-11-23T09:30:00Z"},
		{"0 12 13 * fri", "", "2026-11-01T00:00:00Z", "2026-11-06T12:00:00Z"}, // a day of the month or a weekday
		{"0 12 */1 * fri", "", "2026-11-01T00:00:00Z", "2026-11-06T12:00:00Z"},
		{"5-20/5,50 3 * jan,dec ?", "", "2026-12-31T03:20:00Z", "2026-12-31T03:50:00Z"},
		{"3/20 * * * *", "", "2026-01-01T00:03:00Z", "2026-01-01T00:23:00Z"},
		{"@hourly", "", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"},
		{"@weekly", "", "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"},
		{"@every 90s", "", "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"},
		// Half past two does not exist on the 29th.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		{"0 8 * * *", "America/New_York", "2026-07-01T00:00:00Z", "2026-07-01T12:00:00Z"},
		{"CRON_TZ=Asia/Tokyo 0 8 * * *", "", "2026-07-01T00:00:00Z", "2026-07-01T23:00:00Z"},
		{"0 0 31 2 *", "", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		var zone *string
		if test.zone != "" {
			zone = &test.zone
		}
		s, err := parseSchedule(test.schedule, zone)
		if err != nil {
			t.Errorf("%s: %v", test.schedule, err)
			continue
		}
		after, _ := time.Parse(time.RFC3339, test.after)
		if got := s.Next(after).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s after %s: got %s, want %s", test.schedule, test.after, got, test.want)
		}
	}
	for _, bad := range []string{"", "* * * *", "60 * * * *", "5-3 * * * *", "a * * * *", "*/0 * * * *", "@every x",
		"@never"} {
		if _, err := parseSchedule(bad, nil); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}
