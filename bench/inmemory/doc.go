// Package inmemory tests the in-memory API server with unmodified clients: a controller-runtime manager, and the
// clients of client-go. `make test-peers` runs its tests.
package inmemory
