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

// Record is an object in one revision: of a Go type, or a custom resource, which is kept as a document and decoded on
// demand. It is immutable.
type Record struct {
	Key      string
	revision int64
	Version  int64          // the resourceVersion: the revision, or the store's own counter
	Object   runtime.Object // of a Go type
	Sum      string         // hash of the written object, which may have fewer fields than a reader sees; empty if unknown
	Document Document       // of a custom resource, in the form that readers see
	Written  []byte         // the written document, without the defaults that a reader sees; nil if they are equal
	Schema   any            // schema under which it was written
	Labels   labels.Set     // of a custom resource

	// Caches of derived values.
	read    atomic.Pointer[weak.Pointer[unstructured.Unstructured]] // the custom resource, while it is in use
	Encoded atomic.Pointer[Encoded]                                 // the object of a Go type
}

// Encoded is an object of a Go type as JSON in one version.
type Encoded struct {
	Kind string // its first fields, which items of lists omit
	Data []byte
}

// At returns the record in another revision.
func (r *Record) At(revision, version int64) *Record {
	other := &Record{Key: r.Key, revision: revision, Version: version, Document: r.Document, Written: r.Written,
		Schema: r.Schema, Labels: r.Labels}
	if r.Object != nil {
		other.Object = r.Object.DeepCopyObject()
		SetRevision(other.Object, version)
		other.Sum = r.Sum
	}
	return other
}

// Custom returns the custom resource. It must not be modified.
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

// Stored returns the custom resource as written, without the defaults that readers saw then. The caller owns it.
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

// current returns the custom resource if it is in use, or nil.
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

// setRevision sets the revision of a record that is not shared yet.
func (r *Record) setRevision(revision, version int64) {
	r.revision, r.Version = revision, version
	if r.Object != nil {
		SetRevision(r.Object, version)
	}
	if u := r.current(); u != nil {
		SetRevision(u, version)
	}
}

// Same reports whether another record has the same object, regardless of the revision.
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

// ErrTooLarge is the error of etcd, which upstream's handlers recognize.
var ErrTooLarge = errors.New("etcdserver: request is too large")

// TooLarge reports whether a custom resource exceeds the limit of the request to etcd that the real server would send:
// the object, its key in each step of the transaction, and the overhead.
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

// last returns the document as written.
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
