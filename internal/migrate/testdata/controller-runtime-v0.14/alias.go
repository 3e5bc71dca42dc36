// Package controllerruntime has the signatures of controller-runtime v0.14 that the tests of kctrl migrate are about, and does nothing.
package controllerruntime

import (
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type (
	Manager = manager.Manager
	Options = manager.Options
	Request = reconcile.Request
	Result  = reconcile.Result
)

var NewControllerManagedBy = builder.ControllerManagedBy
