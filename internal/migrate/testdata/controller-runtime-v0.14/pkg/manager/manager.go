// Package manager has the signatures of controller-runtime's.
package manager

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

type Manager interface {
	GetScheme() *runtime.Scheme
	GetClient() client.Client
	GetCache() cache.Cache
	GetWebhookServer() *webhook.Server
	AddMetricsExtraHandler(path string, handler http.Handler) error
}

type Options struct {
	Namespace             string
	NewCache              cache.NewCacheFunc
	ClientDisableCacheFor []client.Object
}
