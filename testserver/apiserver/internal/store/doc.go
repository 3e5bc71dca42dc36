// Package store keeps the objects of an API server in memory, together with a history of revisions. As in etcd, callers
// read lists and changes as of a revision. An optional write-ahead log persists the objects.
//
// The package uses only the resourceVersion of objects and has no code for requests. Callers validate writes before.
package store
