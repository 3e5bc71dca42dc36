package simulator

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// ExistsError reports a sample that exists on the API server before the first run. The runs would change and delete it.
type ExistsError struct {
	Sample int // index in the samples of the operator
	Name   string
}

func (e *ExistsError) Error() string { return e.Name + " already exists on the API server" }

// findSamples returns an [*ExistsError] if a sample already exists on a server that serves several runs.
func (o *Operator) findSamples() error {
	if o.Command == nil || o.Command.Server == nil {
		return nil
	}
	for i, sample := range o.Samples {
		path := collectionOf(o, sample) + "/" + sample.GetName()
		_, err := exchange(o.Command.Server, http.MethodGet, path, nil)
		if err == nil {
			return &ExistsError{i, sample.GetKind() + " " + sample.GetName()}
		}
		if !isNotFound(err) {
			return err
		}
	}
	return nil
}

// leftovers are the objects that a run has created on a server that serves several runs.
type leftovers struct {
	server http.RoundTripper // nil for a server of one run, which needs no cleanup
	lone   *bool             // no controller of the cluster removes namespaces; all runs on a server share this value

	mu      sync.Mutex
	ended   bool // no further write begins
	writes  sync.WaitGroup
	created map[types.UID]string // paths
}

func (o *Operator) leftovers() *leftovers {
	l := &leftovers{created: map[types.UID]string{}}
	if o.Command != nil {
		l.server, l.lone = o.Command.Server, &o.Command.lone
	}
	return l
}

// begin reports whether a write may begin. If it may, the caller must call done after the write.
func (l *leftovers) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.writes.Add(1)
	return true
}

func (l *leftovers) done() { l.writes.Done() }

// add records an object that the run has created.
func (l *leftovers) add(path string, object map[string]any) {
	uid := (&unstructured.Unstructured{Object: object}).GetUID()
	if l.server == nil || uid == "" { // without a UID, the object is a review, which the server does not store
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.created[uid] = path
}

// knows reports whether the run can determine if an object exists. On a server that serves several runs, it can do so
// only for its own objects.
func (l *leftovers) knows(uid types.UID) bool {
	if l.server == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ours := l.created[uid]
	return ours
}

// cleanTime is the maximum time for the deletion of a run's objects.
const cleanTime = 45 * time.Second

// delete waits for the last write, and then deletes the objects of the run that still exist, even if the runs were
// interrupted. It deletes CRDs and namespaces last. It also deletes objects that controllers of the cluster have
// created for deleted objects.
func (l *leftovers) delete() error {
	if l.server == nil {
		return nil
	}
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.writes.Wait()
	end := time.Now().Add(cleanTime)
	ranks := [3][]types.UID{}
	for _, uid := range slices.Sorted(maps.Keys(l.created)) {
		at, _ := parsePath(l.created[uid]) // a path of an object has a resource
		switch at.kind() {
		default:
			ranks[0] = append(ranks[0], uid)
		case "apiextensions.k8s.io/customresourcedefinitions":
			ranks[1] = append(ranks[1], uid)
		case "namespaces":
			ranks[2] = append(ranks[2], uid)
		}
	}
	var errs []error
	for _, uids := range ranks {
		for ; len(uids) > 0; uids = l.addDependents() {
			for _, uid := range uids {
				errs = append(errs, l.remove(l.created[uid], uid, end))
			}
			if time.Now().After(end) {
				break
			}
		}
	}
	return errors.Join(errs...)
}

// dependents has the collections in which controllers of the cluster create objects for other objects.
var dependents = []string{
	"/apis/apps/v1/replicasets", "/apis/apps/v1/controllerrevisions", "/apis/batch/v1/jobs",
	"/apis/discovery.k8s.io/v1/endpointslices", "/api/v1/pods",
}

// addDependents records the objects whose owner the run has created, and returns the UIDs of the new ones.
func (l *leftovers) addDependents() (found []types.UID) {
	for _, collection := range dependents {
		answer, err := exchange(l.server, http.MethodGet, collection, nil)
		list := &unstructured.UnstructuredList{}
		if err != nil || list.UnmarshalJSON(answer) != nil {
			continue // the server does not serve the kind
		}
		for _, item := range list.Items {
			_, known := l.created[item.GetUID()]
			for _, owner := range item.GetOwnerReferences() {
				if _, ours := l.created[owner.UID]; ours && !known {
					at, _ := parsePath(collection) // a collection has a resource
					at.namespace, at.object = item.GetNamespace(), item.GetName()
					l.created[item.GetUID()] = at.path()
					found = append(found, item.GetUID())
					break
				}
			}
		}
	}
	return found
}

// remove removes the finalizers of the object with a UID, deletes it, and waits until it is gone.
func (l *leftovers) remove(path string, uid types.UID, end time.Time) error {
	began := time.Now()
	at, _ := parsePath(path) // a path of an object has a resource
	for {
		answer, err := exchange(l.server, http.MethodGet, path, nil)
		if isNotFound(err) {
			return nil
		}
		u := &unstructured.Unstructured{}
		if err == nil {
			err = json.Unmarshal(answer, &u.Object)
		}
		if err == nil && u.GetUID() != uid {
			return nil // another client has created a new object with this name
		}
		if err == nil {
			err = l.release(at, u, time.Since(began))
		}
		if err == nil && u.GetDeletionTimestamp() == nil {
			const options = `{"gracePeriodSeconds":0,"propagationPolicy":"Background","preconditions":{"uid":%q}}`
			_, err = exchange(l.server, http.MethodDelete, path, fmt.Appendf(nil, options, uid))
		}
		if isNotFound(err) {
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s is still there", at), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// namespaceTime is the time in which a controller of the cluster, if it exists, starts to remove a deleted namespace.
const namespaceTime = 10 * time.Second

// release removes the finalizers of an object. It skips CRDs, because the server itself deletes their objects. It
// finalizes a namespace if no controller of the cluster does so.
func (l *leftovers) release(at resource, u *unstructured.Unstructured, waited time.Duration) error {
	switch at.kind() {
	case "apiextensions.k8s.io/customresourcedefinitions":
		return nil
	case "namespaces":
		_, seen, _ := unstructured.NestedSlice(u.Object, "status", "conditions") // a controller writes them
		if u.GetDeletionTimestamp() == nil || !*l.lone && (seen || waited < namespaceTime) {
			return nil
		}
		*l.lone = true
		unstructured.RemoveNestedField(u.Object, "spec", "finalizers")
		data, err := u.MarshalJSON()
		if err == nil {
			_, err = exchange(l.server, http.MethodPut, at.path()+"/finalize", data)
		}
		return err
	}
	if len(u.GetFinalizers()) == 0 {
		return nil
	}
	const patch = `{"metadata":{"uid":%q,"finalizers":null}}`
	_, err := exchange(l.server, http.MethodPatch, at.path(), fmt.Appendf(nil, patch, u.GetUID()))
	return err
}
