package bridge

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// TestHandlersMayForgetRequests calls the methods of a queue that concern its rate limiter.
func TestHandlersMayForgetRequests(t *testing.T) {
	without := Queue(nil, Options[string]{})
	without.Forget("a")
	if n := without.NumRequeues("a"); n != 0 {
		t.Errorf("%d requeues without a limiter", n)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
	limiter.When("a")
	with := Queue(nil, Options[string]{Limiter: limiter})
	if n := with.NumRequeues("a"); n != 1 {
		t.Errorf("%d requeues, want 1", n)
	}
	with.Forget("a")
	if n := with.NumRequeues("a"); n != 0 {
		t.Errorf("%d requeues after Forget", n)
	}
}
