package leaderelection

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for want, opts := range map[string]Options{
		"the namespace of the lease is empty": {Name: "guestbook"},
		"the name of the lease is empty":      {Namespace: "default"},
		"renew deadline 15s is not less than the lease duration 15s": {Namespace: "default", Name: "guestbook",
			RenewDeadline: 15 * time.Second},
		"renew deadline 10s is too short for the retry period 9s": {Namespace: "default", Name: "guestbook",
			RetryPeriod: 9 * time.Second},
		"renew deadline 10s is too short for the retry period 2562": {Namespace: "default", Name: "guestbook",
			RetryPeriod: math.MaxInt64},
		"is more than a Lease can hold": {Namespace: "default", Name: "guestbook", LeaseDuration: (1<<32 + 1) * time.Second},
		"retry period -1s is negative":  {Namespace: "default", Name: "guestbook", RetryPeriod: -time.Second},
	} {
		_, err := New(newServer(), opts)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) returned %v, want %q", opts, err, want)
		}
	}
}

func TestEveryMistakeIsReported(t *testing.T) {
	_, err := New(newServer(), Options{RenewDeadline: time.Hour})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three lines", err)
	}
}

func TestIdentitiesDiffer(t *testing.T) {
	opts := Options{Namespace: "default", Name: "guestbook"}
	a, errA := New(newServer(), opts)
	b, errB := New(newServer(), opts)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Identity() == b.Identity() || a.Identity() == "" {
		t.Errorf("identities %q and %q", a.Identity(), b.Identity())
	}
}
