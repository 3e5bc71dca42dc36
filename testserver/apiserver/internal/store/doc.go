// Package store keeps the objects of an API server in memory, with all revisions in its history: lists and changes are
// read as of a revision, as in etcd. An optional write-ahead log persists them.
//
// It uses only the resourceVersion of objects, and has no code for requests: writes are validated before.
package store
