package controllerutil

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ApplyIfDifferent applies o (server-side apply, see [client.Writer]), but sends no request if the apply would
// certainly change nothing: the stored object has all values of o, and the field owner owns exactly these fields. Pass
// the owner with [client.FieldOwner]. ApplyIfDifferent sets o to the stored object. On error o is unchanged.
//
// It reads the object directly from the API server and compares in memory, so a call without a change costs one read.
// In doubt it applies. For example, it always applies a value that the server stores in another form, such as the
// quantity "1000m" of an unstructured object, which becomes "1". If the API server then stores nothing, the result is
// [OperationResultNone]. An [Applier] also avoids these requests.
func ApplyIfDifferent(ctx context.Context, c client.Client, o object.Object,
	opts ...client.ApplyOption) (OperationResult, error) {
	return application{c: c, apply: c.Apply}.do(ctx, o, opts)
}

// ApplyStatusIfDifferent is like [ApplyIfDifferent], for the status of o.
func ApplyStatusIfDifferent(ctx context.Context, c client.Client, o object.Object,
	opts ...client.ApplyOption) (OperationResult, error) {
	return statusOnly(application{c: c, subresource: "status", apply: c.Status().Apply}.do(ctx, o, opts))
}

func statusOnly(result OperationResult, err error) (OperationResult, error) {
	if result == OperationResultUpdated {
		result = OperationResultUpdatedStatusOnly
	}
	return result, err
}

// application holds the parameters of an apply.
type application struct {
	c           client.Client
	subresource string
	apply       func(context.Context, object.Object, ...client.ApplyOption) error
	memory      *memory // nil records nothing
}

// do applies o unless the apply would change nothing.
func (a application) do(ctx context.Context, o object.Object, opts []client.ApplyOption) (OperationResult, error) {
	options, err := client.ApplyOptionsOf(opts...)
	if err != nil {
		return OperationResultNone, err
	}
	if options.FieldOwner == "" || options.SubResourceBody != nil {
		return OperationResultNone, fmt.Errorf("apply %s: ApplyIfDifferent needs the option FieldOwner, and cannot send "+
			"another body", object.KeyOf(o))
	}
	gvk, err := object.GVK(o, a.c.Scheme())
	if err != nil {
		return OperationResultNone, fmt.Errorf("apply %s: %w", object.KeyOf(o), err)
	}
	sent, err := configuration.Of(o, gvk, a.subresource == "status")
	if err != nil {
		return OperationResultNone, fmt.Errorf("apply %s: %w", object.KeyOf(o), err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err = a.c.Get(ctx, object.KeyOf(o), live, client.Live)
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return OperationResultNone, err
	}
	wanted := desired{sent, options.FieldOwner, a.subresource}
	if exists && (wanted.isIn(live) || a.memory.has(wanted, live)) {
		return OperationResultNone, become(o, live)
	}
	applied := &unstructured.Unstructured{Object: maps.Clone(sent)}
	if err := a.apply(ctx, applied, opts...); err != nil {
		return OperationResultNone, err
	}
	a.memory.note(wanted, applied)
	switch err := become(o, applied); {
	case err != nil:
		return OperationResultNone, err
	case !exists:
		return OperationResultCreated, nil
	case applied.GetResourceVersion() == live.GetResourceVersion():
		return OperationResultNone, nil
	}
	return OperationResultUpdated, nil
}

// become sets o to live.
func become(o object.Object, live *unstructured.Unstructured) error {
	if u, ok := o.(*unstructured.Unstructured); ok {
		*u = *live
		return nil
	}
	fresh := reflect.New(reflect.TypeOf(o).Elem())
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, fresh.Interface()); err != nil {
		return errors.Join(fmt.Errorf("read %s", object.KeyOf(o)), err)
	}
	kind := fresh.Interface().(object.Object).GetObjectKind()
	kind.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	reflect.ValueOf(o).Elem().Set(fresh.Elem())
	return nil
}

// maxRemembered is the number of applies that an [Applier] remembers.
const maxRemembered = 10_000

// Applier applies as [ApplyIfDifferent] does. It also remembers configurations that the API server stores in another
// form, for example because it normalizes quantities or an admission webhook changes the object. It does not send such
// a configuration again until the configuration changes, or the value or owner of a field that it sets. It remembers
// one hash for each of at most ten thousand objects. All methods are safe for concurrent use.
//
// An Applier does not notice when a webhook changes its behavior.
type Applier struct {
	client client.Client
	memory *memory
}

// NewApplier returns an Applier that reads and writes through c. It has an empty memory, so a restarted program sends
// each remembered configuration once more.
func NewApplier(c client.Client) *Applier {
	return &Applier{client: c, memory: &memory{hashes: map[place][sha256.Size]byte{}}}
}

// Apply is like [ApplyIfDifferent], and uses the memory of a.
func (a *Applier) Apply(ctx context.Context, o object.Object, opts ...client.ApplyOption) (OperationResult, error) {
	return application{c: a.client, apply: a.client.Apply, memory: a.memory}.do(ctx, o, opts)
}

// ApplyStatus is like [ApplyStatusIfDifferent], and uses the memory of a.
func (a *Applier) ApplyStatus(ctx context.Context, o object.Object,
	opts ...client.ApplyOption) (OperationResult, error) {
	return statusOnly(application{c: a.client, subresource: "status", apply: a.client.Status().Apply,
		memory: a.memory}.do(ctx, o, opts))
}

// memory records the stored forms of configurations. A nil memory records nothing.
type memory struct {
	mu     sync.Mutex
	hashes map[place][sha256.Size]byte
}

// place identifies the object and the owner of an apply.
type place struct {
	uid         types.UID
	owner       string
	subresource string
}

// note records the stored form of d, unless a comparison shows that it equals d.
func (m *memory) note(d desired, live *unstructured.Unstructured) {
	if m == nil {
		return
	}
	at := place{live.GetUID(), d.owner, d.subresource}
	hash, known := d.hash(live)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.hashes, at)
	if !known || at.uid == "" || d.isIn(live) {
		return
	}
	for other := range m.hashes {
		if len(m.hashes) < maxRemembered {
			break
		}
		delete(m.hashes, other)
	}
	m.hashes[at] = hash
}

// has reports whether live equals the recorded form of d.
func (m *memory) has(d desired, live *unstructured.Unstructured) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	noted, found := m.hashes[place{live.GetUID(), d.owner, d.subresource}]
	m.mu.Unlock()
	if !found {
		return false
	}
	if _, certain := applicable(d.configuration, live); !certain {
		return false
	}
	hash, known := d.hash(live)
	return known && hash == noted
}

// hash returns a hash of the configuration, of the fields that its owner owns in live, and of their values in live. It
// reports false if the owner owns no fields.
func (d desired) hash(live *unstructured.Unstructured) (hash [sha256.Size]byte, known bool) {
	owned := d.ownedIn(live)
	if owned == nil {
		return hash, false
	}
	text, err := json.Marshal([]any{d.configuration, owned, ownedValue(live.Object, owned)})
	return sha256.Sum256(text), err == nil
}

// ownedValue returns the owned part of live. Items of a list keep their order.
func ownedValue(live any, owned node) any {
	kind, _ := entryKind(owned)
	switch value := live.(type) {
	case map[string]any:
		if kind == "f" {
			fields := map[string]any{}
			for name, below := range owned {
				if field, ok := strings.CutPrefix(name, "f:"); ok {
					fields[field] = ownedValue(value[field], asNode(below))
				}
			}
			return fields
		}
	case []any:
		switch kind {
		case "k":
			return ownedItems(value, owned)
		case "v":
			return ownedMembers(value, owned)
		}
	}
	return live
}

// ownedItems is the variant of ownedValue for a list whose items have key fields.
func ownedItems(live []any, owned node) (items []any) {
	for _, item := range live {
		for name, below := range owned {
			if key := keyIn(name); key != nil && hasKey(item, key) {
				items = append(items, ownedValue(item, asNode(below)))
			}
		}
	}
	return items
}

// ownedMembers is the variant of ownedValue for a list that is a set of values.
func ownedMembers(live []any, owned node) (members []any) {
	for _, member := range live {
		text, err := json.Marshal(member)
		if _, ok := owned["v:"+string(text)]; ok && err == nil {
			members = append(members, member)
		}
	}
	return members
}

func asNode(value any) node {
	n, _ := value.(node)
	return n
}
