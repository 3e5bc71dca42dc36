// Package inmemory tests unmodified clients with the API server in memory: a manager of controller-runtime, and the
// clients of client-go. `make test-peers` runs its tests.
package inmemory
