package cluster

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

type Cluster interface {
	GetClient() client.Client
	GetScheme() *runtime.Scheme
	GetConfig() *rest.Config
	GetAPIReader() client.Reader
	GetCache() cache.Cache
	GetFieldIndexer() client.FieldIndexer
	recorder.Provider
}
