// Package inmemory has what others write against the API server, unmodified, on the one in memory: a manager of controller-runtime, and
// the clients of client-go. Its tests run by `make test-peers`.
package inmemory
