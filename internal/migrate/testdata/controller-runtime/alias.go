// Package controllerruntime has the signatures of controller-runtime that the tests of kctrl migrate are about, and does nothing.
package controllerruntime

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

type (
	Manager = manager.Manager
	Options = manager.Options
	Request = reconcile.Request
	Result  = reconcile.Result
	Builder = builder.Builder
)

var (
	NewManager             = manager.New
	NewControllerManagedBy = builder.ControllerManagedBy
	LoggerFrom             = log.FromContext
	Log                    = log.Log
	SetLogger              = log.SetLogger
)

func NewWebhookManagedBy[T any](m manager.Manager, o T) *builder.WebhookBuilder[T] { return nil }

func GetConfigOrDie() *rest.Config { return nil }

func SetupSignalHandler() context.Context { return nil }

var _ logr.Logger
