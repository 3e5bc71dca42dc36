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

// Record is an object at one revision. It is an object of a Go type, or a custom resource, which is kept as a document
// and decoded on demand. A Record is immutable.
type Record struct {
	Key      string
	Revision int64          // the resourceVersion
	Object   runtime.Object // an object of a Go type
	Sum      string         // hash of the written object, which may have fewer fields than a reader sees; empty if unknown
	Document Document       // a custom resource in the form that readers see
	Written  []byte         // the document as written, without the defaults that readers see; nil if they are equal
	Schema   any            // schema with which it was written
	Labels   labels.Set     // labels of a custom resource

	// Caches of derived values.
	read    atomic.Pointer[weak.Pointer[unstructured.Unstructured]] // the decoded custom resource, while it is in use
	Encoded atomic.Pointer[Encoded]                                 // the encoded object of a Go type
}

// Encoded is an object of a Go type, encoded as JSON in one version.
type Encoded struct {
	Kind string // the first fields of the object, which items of lists omit
	Data []byte
}

// At returns the record at another revision.
func (r *Record) At(revision int64) *Record {
	other := &Record{Key: r.Key, Revision: revision, Document: r.Document, Written: r.Written, Schema: r.Schema,
		Labels: r.Labels}
	if r.Object != nil {
		other.Object = r.Object.DeepCopyObject()
		SetRevision(other.Object, revision)
		other.Sum = r.Sum
	}
	return other
}

// Custom returns the custom resource. The caller must not modify it.
func (r *Record) Custom() (*unstructured.Unstructured, error) {
	if u := r.current(); u != nil {
		return u, nil
	}
	u, err := r.Document.decode(r.Revision)
	if err == nil {
		r.Keep(u)
	}
	return u, err
}

// Stored returns the custom resource as it was written, without the defaults that readers saw at that time. The caller
// owns it.
func (r *Record) Stored() (*unstructured.Unstructured, error) {
	if r.Written != nil {
		return Document{Data: r.Written}.decode(r.Revision)
	}
	u, err := r.Custom()
	if err != nil {
		return nil, err
	}
	return u.DeepCopy(), nil
}

// current returns the decoded custom resource while it is in use, and otherwise nil.
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

// setRevision sets the revision of a record that no other goroutine uses yet.
func (r *Record) setRevision(revision int64) {
	r.Revision = revision
	if r.Object != nil {
		SetRevision(r.Object, revision)
	}
	if u := r.current(); u != nil {
		SetRevision(u, revision)
	}
}

// Same reports whether two records contain the same object, regardless of their revisions.
func (r *Record) Same(other *Record) bool {
	if r.Object != nil && r.Sum != "" && other.Sum != "" {
		return r.Sum == other.Sum
	}
	if r.Object != nil {
		SetRevision(r.Object, other.Revision)
		return reflect.DeepEqual(r.Object, other.Object)
	}
	return bytes.Equal(r.last(), other.last())
}

// ErrTooLarge is etcd's error for requests that are too large. Upstream's handlers recognize it.
var ErrTooLarge = errors.New("etcdserver: request is too large")

// TooLarge reports whether the write of a custom resource would exceed etcd's request limit on a real server. The
// request contains the object, its key in each step of the transaction, and overhead.
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

// last returns the document of a custom resource as it was written.
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
