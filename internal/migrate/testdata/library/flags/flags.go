// Package flags is of a library that speaks controller-runtime's zap.
package flags

import "sigs.k8s.io/controller-runtime/pkg/log/zap"

// New returns what the library has flags for.
func New(o zap.Options) *zap.Options { return &o }
