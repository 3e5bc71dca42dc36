package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// waiters starts count goroutines that wait until c is reachable. ended returns how many of them have returned.
func waiters(ctx context.Context, c *client.REST, count int) (ended func() int) {
	done := make(chan error, count)
	for range count {
		go func() { done <- c.Reachable(ctx) }()
	}
	synctest.Wait()
	return func() int {
		synctest.Wait()
		return len(done)
	}
}

// probes returns the number of readiness probes since the last call.
func (s *server) probes() (count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.sent {
		if r.what == "GET /readyz" {
			count++
		}
	}
	s.sent = nil
	return count
}

func TestServerThatFailsIsProbedOnceASecondHoweverManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.fails("GET /readyz", http.StatusInternalServerError, "etcd failed")
		ended := waiters(t.Context(), connect(t, s, client.Options{}), 50)
		time.Sleep(time.Minute)
		if got := s.probes(); ended() != 0 || got < 30 || got > 60 {
			t.Errorf("%d probes in a minute, %d think that it is reachable", got, ended())
		}
		s.respond("GET /readyz", "ok")
		time.Sleep(2 * time.Second)
		if got := s.probes(); ended() != 50 || got != 1 {
			t.Errorf("%d probes, %d think that it is reachable", got, ended())
		}
		time.Sleep(time.Minute)
		if got := s.probes(); got != 0 {
			t.Errorf("%d probes without a waiter", got)
		}
	})
}

func TestAnyRequestThatSucceedsMakesTheServerReachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.fails("GET /readyz", http.StatusInternalServerError, "etcd failed")
		s.on(getA, func(n int) answer {
			if n == 1 {
				return answer{code: http.StatusInternalServerError, body: "storm"}
			}
			return answer{body: foundA}
		})
		c := connect(t, s, client.Options{})
		if err := c.Get(t.Context(), keyA, &corev1.ConfigMap{}); err != nil {
			t.Fatal(err) // this also requested the discovery document of the kind
		}
		ended := waiters(t.Context(), c, 3)
		if err := c.Get(t.Context(), keyA, &corev1.ConfigMap{}); err == nil || ended() != 0 {
			t.Errorf("got %v, and %d think that the server is reachable", err, ended())
		}
		if err := c.Get(t.Context(), keyA, &corev1.ConfigMap{}); err != nil || ended() != 3 {
			t.Errorf("got %v, and %d think that the server is reachable", err, ended())
		}
		if got := waiters(t.Context(), c, 1)(); got != 0 {
			t.Error("an answer from before the wait counts")
		}
	})
}

func TestServerThatHidesItsReadinessIsReachable(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.fails("GET /readyz", code, "")
			if got := waiters(t.Context(), connect(t, s, client.Options{}), 2)(); got != 2 {
				t.Errorf("%d of 2 think that a server is reachable that answers %d", got, code)
			}
		})
	}
}

func TestEndOfTheContextEndsTheWaitToBeReachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.on("GET /readyz", func(int) answer { return answer{err: errors.New("connection refused")} })
		c := connect(t, s, client.Options{})
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		prober := waiters(short, c, 1)
		others := waiters(t.Context(), c, 2)
		time.Sleep(time.Second)
		if prober() != 1 || others() != 0 {
			t.Errorf("%d and %d have ended their wait", prober(), others())
		}
		time.Sleep(10 * time.Second)
		if got := s.probes(); got < 4 {
			t.Errorf("%d probes: no waiter replaced the one that left", got)
		}
		s.respond("GET /readyz", "ok")
		time.Sleep(2 * time.Second)
		if others() != 2 {
			t.Errorf("%d have ended their wait", others())
		}
		watcher, err := client.NewListWatcher(c, &corev1.ConfigMap{}, client.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if err := watcher.Reachable(short); err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("got %v", err)
		}
	})
}
