package store

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Record is an object in one revision: either of a Go type, or a custom resource, which is kept as its document and read when
// somebody needs more than that. Nobody changes it.
type Record struct {
	Key      string
	revision int64
	Version  int64          // the resourceVersion, which is the revision, or what the store counts
	Object   runtime.Object // of a Go type
	Sum      string         // of the object as it was written, which may be less than what a reader finds; nothing if that is not known
	Document Document       // of a custom resource, as it is read
	Written  []byte         // the document as it was written, without the defaults that a reader finds; nil when that is the same
	Schema   any            // under which schema it was written
	Labels   labels.Set     // of a custom resource

	// What was made of it before, to be used again.
	read    atomic.Pointer[weak.Pointer[unstructured.Unstructured]] // the custom resource, while somebody has it
	Encoded atomic.Pointer[Encoded]                                 // the object of a Go type
}

// Encoded is an object of a Go type as JSON in one version.
type Encoded struct {
	Kind string // its first fields, which items of lists do not have
	Data []byte
}

// At is the record in another revision.
func (r *Record) At(revision, version int64) *Record {
	other := &Record{Key: r.Key, revision: revision, Version: version, Document: r.Document, Written: r.Written, Schema: r.Schema, Labels: r.Labels}
	if r.Object != nil {
		other.Object = r.Object.DeepCopyObject()
		SetRevision(other.Object, version)
		other.Sum = r.Sum
	}
	return other
}

// Custom is the custom resource. Nobody may change it.
func (r *Record) Custom() (*unstructured.Unstructured, error) {
	if u := r.current(); u != nil {
		return u, nil
	}
	u, err := r.Document.decode(r.Version)
	if err == nil {
		r.Keep(u)
	}
	return u, err
}

// Stored is the custom resource as it was written, without the defaults that a reader found then. It is the caller's.
func (r *Record) Stored() (*unstructured.Unstructured, error) {
	if r.Written != nil {
		return Document{Data: r.Written}.decode(r.Version)
	}
	u, err := r.Custom()
	if err != nil {
		return nil, err
	}
	return u.DeepCopy(), nil
}

// current is the custom resource if somebody has it, else nil.
func (r *Record) current() *unstructured.Unstructured {
	if pointer := r.read.Load(); pointer != nil {
		return pointer.Value()
	}
	return nil
}

func (r *Record) Keep(u *unstructured.Unstructured) {
	pointer := weak.Make(u)
	r.read.Store(&pointer)
}

// SetRevision is for a record that nobody else has.
func (r *Record) setRevision(revision, version int64) {
	r.revision, r.Version = revision, version
	if r.Object != nil {
		SetRevision(r.Object, version)
	}
	if u := r.current(); u != nil {
		SetRevision(u, version)
	}
}

// Same reports whether another record has the same object, whatever its revision.
func (r *Record) Same(other *Record) bool {
	if r.Object != nil && r.Sum != "" && other.Sum != "" {
		return r.Sum == other.Sum
	}
	if r.Object != nil {
		SetRevision(r.Object, other.Version)
		return reflect.DeepEqual(r.Object, other.Object)
	}
	return bytes.Equal(r.last(), other.last())
}

// ErrTooLarge is the error of etcd, which upstream's handlers know.
var ErrTooLarge = errors.New("etcdserver: request is too large")

// TooLarge reports whether a custom resource is too large for a request to etcd, which the real server sends for it: the object, its
// key in each step of the transaction, and what is around them.
func (r *Record) TooLarge(key string, was *Record) bool {
	const most = 3 << 19
	if r.Object != nil {
		return false
	}
	size := len(r.last()) - len(`"resourceVersion":"",`) + len("\n")
	if was == nil {
		return size+2*len(key)+57 > most
	}
	return size+3*len(key)+64 > most
}

// last is the document as it was written.
func (r *Record) last() []byte {
	if r.Written != nil {
		return r.Written
	}
	return r.Document.Data
}

func SetRevision(object runtime.Object, revision int64) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetResourceVersion(strconv.FormatInt(revision, 10))
	}
}
