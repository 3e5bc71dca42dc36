// Package store keeps the objects of an API server in memory, in all the revisions that its history has: lists and changes are asked for
// as of one, as those of etcd are. A write-ahead log has them on a disk too, if that is wanted.
//
// It knows of objects that they have a resourceVersion, and of requests nothing: what may be written is decided before.
package store
