package library

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Flags returns what flags say of TLS and metrics.
func Flags() ([]func(*tls.Config), *server.Options, error) { return nil, &server.Options{}, nil }
