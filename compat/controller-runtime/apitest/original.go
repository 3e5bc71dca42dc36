// Package apitest compares the APIs of this module and of controller-runtime.
package apitest

// These imports keep the modules that the original's packages need in go.mod and go.sum.
import (
	_ "sigs.k8s.io/controller-runtime"
	_ "sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	_ "sigs.k8s.io/controller-runtime/pkg/client/fake"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest/komega"
	_ "sigs.k8s.io/controller-runtime/pkg/finalizer"
	_ "sigs.k8s.io/controller-runtime/pkg/leaderelection/fake"
	_ "sigs.k8s.io/controller-runtime/pkg/log/zap"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	_ "sigs.k8s.io/controller-runtime/pkg/webhook/authentication"
)

// module is the path of both modules.
const module = "sigs.k8s.io/controller-runtime"
