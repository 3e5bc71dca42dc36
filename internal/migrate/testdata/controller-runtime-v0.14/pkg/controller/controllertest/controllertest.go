// Package controllertest has the signatures of controller-runtime's.
package controllertest

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

type Queue struct {
	workqueue.Interface
}

func (q Queue) AddAfter(item interface{}, d time.Duration) { q.Add(item) }
func (q Queue) AddRateLimited(item interface{})            { q.Add(item) }
func (q Queue) Forget(item interface{})                    {}
func (q Queue) NumRequeues(item interface{}) int           { return 0 }
