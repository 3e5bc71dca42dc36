// Package apitest compares the API of this repository's controller-runtime with that of the original.
package apitest

// The original, so that go.mod requires all its packages.
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
