package ignorecomment

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

func reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	//kctrl:ignore blockingsleep: the device settles in one second
	time.Sleep(time.Second)
	time.Sleep(time.Second) //kctrl:ignore blockingsleep: and in another one
	/* want `//kctrl:ignore blockingsleep has no reason` */ //kctrl:ignore blockingsleep
	time.Sleep(time.Minute)
	return ctrl.Result{}, nil
}

/* want `//kctrl:ignore blockingsleep suppresses no finding` */ //kctrl:ignore blockingsleep: nothing sleeps here
func quiet()                                                    {}

/* want `//kctrl:ignore names no rule: "sleep"` */ //kctrl:ignore sleep: no such rule
func loud()                                        {}

//kctrl:ignore rbac: kctrl rbac reads this comment
func permissions() {}

/* want `//kctrl:ignore rbac has no reason` */ //kctrl:ignore rbac
func more()                                    {}
