package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// strategy has the methods in which writes of different kinds differ.
type strategy interface {
	rest.RESTCreateUpdateStrategy
	rest.RESTDeleteStrategy
	rest.ResetFieldsStrategy
}

// codec converts objects to stored records and back.
type codec interface {
	// encode returns a new record for an object, without a revision. The codec owns the object from then on.
	encode(object runtime.Object) (*store.Record, error)
	// decode returns the object of a record for readers of this registry. It must not be modified.
	decode(r *store.Record) (runtime.Object, error)
	// settled reports whether the object would be stored unchanged in the form that readers receive. If not, the real
	// server also writes an object that an update does not change. An example is a Job, to which reads add the labels of
	// its template.
	settled(r *store.Record) bool
}

// registry implements requests for the objects of one kind in one version, and keeps these objects in the store. Its
// steps have the same order and return the same errors as in the generic registry of Kubernetes. Upstream's request
// handlers call it.
type registry struct {
	table       *store.Table
	prefix      string // prefix of keys: /registry/ and the resource
	errorPrefix string // replaces prefix in error messages, if not empty
	resource    schema.GroupResource
	kind        schema.GroupVersionKind
	new         func() runtime.Object
	newList     func() runtime.Object
	strategy    strategy
	codec       codec
	attrs       storage.AttrFunc
	names       *generator
	started     int64           // lowest revision of a watch
	stopped     <-chan struct{} // closed when it no longer serves watches

	rest.TableConvertor
	singular      string
	returnDeleted bool // whether a deletion returns the object instead of a Status
	uncached      bool // whether reads return the errors of the storage instead of a cache's errors
	// deletable reports whether an update that removes the last finalizer may delete the object. It may be nil.
	deletable func(updated, existing runtime.Object) bool
	// written is called after a write, without locks. It may be nil.
	written func()
	// allocate sets unique values in a created or changed object. It may be nil.
	allocate func(object, existing runtime.Object, dryRun bool) error
}

var versioner = storage.APIObjectVersioner{}

var (
	_ rest.StandardStorage            = (*registry)(nil)
	_ rest.MayReturnFullObjectDeleter = (*registry)(nil)
)

func (r *registry) New() runtime.Object              { return r.new() }
func (r *registry) NewList() runtime.Object          { return r.newList() }
func (r *registry) Destroy()                         {}
func (r *registry) NamespaceScoped() bool            { return r.strategy.NamespaceScoped() }
func (r *registry) GetSingularName() string          { return r.singular }
func (r *registry) DeleteReturnsDeletedObject() bool { return r.returnDeleted }
func (r *registry) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.strategy.GetResetFields()
}

// with returns a copy of the registry with another strategy, for subresources.
func (r *registry) with(s strategy) *registry {
	other := *r
	other.strategy, other.allocate = s, nil
	return &other
}

// subresource is the registry of a subresource, which creates no objects.
type subresource struct{ *registry }

func (s subresource) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.registry.Update(ctx, name, info, validateCreation, validateUpdate, false, options)
}

// root returns the prefix of the keys of a request.
func (r *registry) root(ctx context.Context) string {
	if namespace := request.NamespaceValue(ctx); namespace != "" && r.NamespaceScoped() {
		return r.prefix + "/" + namespace + "/"
	}
	return r.prefix + "/"
}

func (r *registry) key(ctx context.Context, name string) (string, error) {
	if r.NamespaceScoped() && request.NamespaceValue(ctx) == "" {
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	}
	if name == "" {
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(problems, ";")))
	}
	return r.root(ctx) + name, nil
}

// qualified returns the resource for errors.
func (r *registry) qualified(ctx context.Context) schema.GroupResource {
	if info, ok := request.RequestInfoFrom(ctx); ok {
		return schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	}
	return r.resource
}

// own returns the object of a record. The caller may modify it.
func (r *registry) own(record *store.Record) (runtime.Object, error) {
	object, err := r.codec.decode(record)
	if err != nil {
		return nil, err
	}
	return object.DeepCopyObject(), nil
}

// Create creates an object. If a generated name is already in use, it tries other names.
func (r *registry) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	const attempts = 8
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	if accessor.GetGenerateName() == "" || accessor.GetName() != "" {
		return r.create(ctx, object, validate, options)
	}
	var created runtime.Object
	for range attempts {
		created, err = r.create(ctx, object.DeepCopyObject(), validate, options)
		if !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return created, err
}

func (r *registry) create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	dryRun := dryrun.IsDryRun(options.DryRun)
	if err := r.prepareCreation(ctx, object, validate, dryRun); err != nil {
		return nil, err
	}
	key, err := r.key(ctx, must.Access(object).GetName())
	if err != nil {
		return nil, err
	}
	// an invalid number counts as unset
	if version, err := versioner.ObjectResourceVersion(object); !dryRun && err == nil && version != 0 {
		return nil, storage.ErrResourceVersionSetOnCreate
	}
	if existing := r.table.Get(key); existing != nil {
		return nil, r.exists(ctx, object, existing)
	}
	if dryRun {
		return r.dry(object)
	}
	stored, err := r.codec.encode(object)
	if err != nil {
		return nil, err
	}
	if stored.TooLarge(key, nil) {
		return nil, store.ErrTooLarge
	}
	switch put, err := r.table.Put(key, nil, stored); {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case !put:
		return nil, r.exists(ctx, object, r.table.Get(key))
	}
	r.notify()
	return r.codec.decode(stored)
}

// exists returns the error for the creation of an object that already exists.
func (r *registry) exists(ctx context.Context, object runtime.Object, existing *store.Record) error {
	name := must.Access(object).GetName()
	err := rest.CheckGeneratedNameError(ctx, r.strategy, apierrors.NewAlreadyExists(r.qualified(ctx), name), object)
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if ok && existing != nil && r.terminating(existing) && apierrors.IsAlreadyExists(err) {
		status.ErrStatus.Message = "object is being deleted: " + status.ErrStatus.Message
	}
	return err
}

// terminating reports whether an object is being deleted.
func (r *registry) terminating(record *store.Record) bool {
	object, err := r.codec.decode(record)
	return err == nil && must.Access(object).GetDeletionTimestamp() != nil
}

// prepareCreation prepares an object for its creation, and validates it.
func (r *registry) prepareCreation(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	dryRun bool) error {
	accessor := must.Access(object)
	rest.FillObjectMetaSystemFields(accessor)
	accessor.SetUID(r.names.uid())
	if accessor.GetGenerateName() != "" && accessor.GetName() == "" {
		accessor.SetName(r.strategy.GenerateName(accessor.GetGenerateName()))
	}
	if r.allocate != nil {
		if err := r.allocate(object, nil, dryRun); err != nil {
			return err
		}
	}
	if err := rest.BeforeCreate(r.strategy, ctx, object); err != nil {
		return err
	}
	if validate == nil {
		return nil
	}
	return validate(ctx, object.DeepCopyObject())
}

// dry returns the result of a dry run.
func (r *registry) dry(object runtime.Object) (runtime.Object, error) {
	version, link := must.Access(object).GetResourceVersion(), must.Access(object).GetSelfLink()
	stored, err := r.codec.encode(object)
	if err != nil {
		return nil, err
	}
	shown, err := r.codec.decode(stored)
	if err != nil {
		return nil, err
	}
	must.Access(shown).SetResourceVersion(version)
	must.Access(shown).SetSelfLink(link) // only stored objects lose the link
	return shown, nil
}

func (r *registry) notify() {
	if r.written != nil {
		r.written()
	}
}

// errEmptied means that an update has removed the last finalizer of an object in deletion.
var errEmptied = errors.New("the last finalizer is removed")

// Update changes an object, or creates it if permitted.
func (r *registry) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, mayCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	key, err := r.key(ctx, name)
	if err != nil {
		return nil, false, err
	}
	mayCreate = mayCreate || r.strategy.AllowCreateOnUpdate(ctx)
	preconditions := storage.Preconditions(builtin.Deref(info.Preconditions()))
	var created bool
	dryRun := dryrun.IsDryRun(options.DryRun)
	updated, err := r.guarded(ctx, key, mayCreate, preconditions, dryRun,
		func(existing runtime.Object) (runtime.Object, error) {
			object, err := info.UpdatedObject(ctx, existing)
			if err != nil {
				return nil, err
			}
			if created = must.Access(existing).GetResourceVersion() == ""; created {
				if _, err := versioner.ObjectResourceVersion(object); err != nil {
					return nil, err
				}
				rest.WipeObjectMetaSystemFields(must.Access(object))
				return object, r.prepareCreation(ctx, object, validateCreation, dryRun)
			}
			return r.prepareUpdate(ctx, name, object, existing, validateUpdate, dryRun)
		})
	switch {
	case err == nil:
		return updated, created, nil
	case errors.Is(err, errEmptied):
		_, err := r.remove(ctx, key, name, preconditions, rest.ValidateAllObjectFunc, dryRun)
		if apierrors.IsNotFound(err) {
			err = nil // another request has removed the object
		}
		return updated, false, err
	case created:
		err = storageerrors.InterpretCreateError(err, r.qualified(ctx), name)
		return nil, false, err
	}
	return nil, false, storageerrors.InterpretUpdateError(err, r.qualified(ctx), name)
}

// prepareUpdate prepares an object to replace an existing one, and validates it.
func (r *registry) prepareUpdate(ctx context.Context, name string, object, existing runtime.Object,
	validate rest.ValidateObjectUpdateFunc, dryRun bool) (runtime.Object, error) {
	version, err := versioner.ObjectResourceVersion(object)
	if err != nil {
		return nil, err
	}
	accessor, current := must.Access(object), must.Access(existing).GetResourceVersion()
	switch {
	case version == 0 && r.strategy.AllowUnconditionalUpdate(ctx):
		accessor.SetResourceVersion(current)
	case version == 0:
		problem := field.Invalid(field.NewPath("metadata").Child("resourceVersion"), version,
			"must be specified for an update")
		resource := r.qualified(ctx)
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: resource.Resource}, name,
			field.ErrorList{problem})
	case fmt.Sprint(version) != current:
		return nil, apierrors.NewConflict(r.qualified(ctx), name, errors.New(optimisticLockMessage))
	}
	if r.allocate != nil {
		if err := r.allocate(object, existing, dryRun); err != nil {
			return nil, err
		}
	}
	if err := rest.BeforeUpdate(r.strategy, ctx, object, existing); err != nil {
		return nil, distinctCauses(r.strategy, err)
	}
	if object, err = fieldmanager.IgnoreManagedFieldsTimestampsTransformer(ctx, object, existing); err != nil {
		return nil, err
	}
	if validate != nil && ctx.Value(unguarded{}) == nil {
		if err := validate(ctx, object.DeepCopyObject(), existing.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if r.emptied(object, existing) {
		return object, errEmptied
	}
	return object, nil
}

// distinctCauses removes duplicate causes, as upstream does for kinds with generated checks.
func distinctCauses(s strategy, err error) error {
	var status *apierrors.StatusError
	if of, generated := s.(*kindStrategy); !generated || of.kind == &definitionKind || !errors.As(err, &status) ||
		status.ErrStatus.Details == nil {
		return err
	}
	var distinct []metav1.StatusCause
	for _, cause := range status.ErrStatus.Details.Causes {
		if !slices.Contains(distinct, cause) {
			distinct = append(distinct, cause)
		}
	}
	status.ErrStatus.Details.Causes = distinct
	return err
}

const optimisticLockMessage = "the object has been modified; please apply your changes to the latest version and try " +
	"again"

// emptied reports whether an object in deletion can be removed.
func (r *registry) emptied(updated, existing runtime.Object) bool {
	was := must.Access(existing)
	grace := was.GetDeletionGracePeriodSeconds()
	return len(must.Access(updated).GetFinalizers()) == 0 && was.GetDeletionTimestamp() != nil &&
		(grace == nil || *grace == 0) &&
		(r.deletable == nil || r.deletable(updated, existing))
}

// guarded calls update with the stored object and writes the result. If another write has intervened, it repeats both.
// It skips a write without changes. If update fails, guarded returns the error and the object that update returned.
func (r *registry) guarded(ctx context.Context, key string, mayCreate bool, preconditions storage.Preconditions,
	dryRun bool,
	update func(existing runtime.Object) (runtime.Object, error),
) (runtime.Object, error) {
	for {
		was := r.table.Get(key)
		if was == nil && !mayCreate {
			return nil, storage.NewKeyNotFoundError(key, 0)
		}
		existing := r.new()
		if was != nil {
			var err error
			if existing, err = r.own(was); err != nil {
				return nil, err
			}
		}
		if err := preconditions.Check(r.shown(key, dryRun), existing); err != nil {
			return nil, err
		}
		object, err := update(existing)
		if err != nil {
			return object, err
		}
		if dryRun {
			return r.dry(object)
		}
		if was == nil {
			must.Access(object).SetResourceVersion("")
		}
		stored, err := r.codec.encode(object)
		if err != nil {
			return nil, err
		}
		if was != nil && stored.Same(was) && r.codec.settled(was) {
			return r.codec.decode(was)
		}
		if stored.TooLarge(key, was) {
			return nil, store.ErrTooLarge
		}
		switch put, err := r.table.Put(key, was, stored); {
		case err != nil:
			return nil, apierrors.NewInternalError(err)
		case put:
			r.notify()
			return r.codec.decode(stored)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// shown returns a key for errors. In a dry run, the key lacks /registry, because upstream does not run the code that
// adds it.
func (r *registry) shown(key string, dryRun bool) string {
	key = cmp.Or(r.errorPrefix, r.prefix) + strings.TrimPrefix(key, r.prefix)
	if dryRun {
		return strings.TrimPrefix(key, "/registry")
	}
	return key
}

// remove removes an object from the store.
func (r *registry) remove(ctx context.Context, key, name string, preconditions storage.Preconditions,
	validate rest.ValidateObjectFunc, dryRun bool) (runtime.Object, error) {
	for {
		was := r.table.Get(key)
		if was == nil {
			return nil, apierrors.NewNotFound(r.qualified(ctx), name)
		}
		existing, err := r.own(was)
		if err != nil {
			return nil, err
		}
		if err := preconditions.Check(r.shown(key, dryRun), existing); err != nil {
			return nil, storageerrors.InterpretDeleteError(err, r.qualified(ctx), name)
		}
		if err := validate(ctx, existing); err != nil {
			return nil, err
		}
		if dryRun {
			return existing, nil
		}
		switch last, err := r.table.Remove(was); {
		case err != nil:
			return nil, apierrors.NewInternalError(err)
		case last != nil:
			r.notify()
			return r.codec.decode(last)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// Delete deletes an object, or marks it as in deletion if it has finalizers.
func (r *registry) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	key, err := r.key(ctx, name)
	if err != nil {
		return nil, false, err
	}
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	record := r.table.Get(key)
	if record == nil {
		return nil, false, apierrors.NewNotFound(r.qualified(ctx), name)
	}
	existing, err := r.own(record)
	if err != nil {
		return nil, false, err
	}
	preconditions := storage.Preconditions(builtin.Deref(options.Preconditions))
	graceful, pending, err := rest.BeforeDelete(r.strategy, ctx, existing, options)
	if err != nil {
		return nil, false, err
	}
	if pending {
		return existing, false, nil
	}
	_, changed := r.deletionFinalizers(ctx, must.Access(existing), options)
	dryRun := dryrun.IsDryRun(options.DryRun)
	if graceful || changed || len(must.Access(existing).GetFinalizers()) > 0 {
		marked, gone, err := r.mark(ctx, key, name, preconditions, validate, options)
		if err != nil || !gone || dryRun {
			return marked, gone, err
		}
		if preconditions.ResourceVersion != nil {
			preconditions.ResourceVersion = new(must.Access(marked).GetResourceVersion())
		}
	}
	last, err := r.remove(ctx, key, name, preconditions, validate, dryRun)
	if err != nil {
		return nil, false, err
	}
	return r.deleted(ctx, last), true, nil
}

// pinned returns preconditions with which a deletion deletes exactly this object, and not a later object with the same
// name.
func (r *registry) pinned(object runtime.Object, options *metav1.DeleteOptions,
	failed string) (storage.Preconditions, error) {
	accessor := must.Access(object)
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	given, uid, version := options.Preconditions, accessor.GetUID(), accessor.GetResourceVersion()
	if given.UID == nil {
		given.UID = &uid
	}
	if *given.UID != uid {
		return storage.Preconditions{}, apierrors.NewConflict(r.resource, accessor.GetName(),
			fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", failed, *given.UID, uid))
	}
	if given.ResourceVersion != nil && *given.ResourceVersion != version {
		return storage.Preconditions{}, apierrors.NewConflict(r.resource, accessor.GetName(),
			fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", failed,
				*given.ResourceVersion, version))
	}
	return storage.Preconditions(*given), nil
}

// deleteInSteps deletes an object of a kind that is deleted in two steps. The first deletion only marks the object. A
// later one removes it, if it is empty. failed is the error's prefix for failed preconditions.
func (r *registry) deleteInSteps(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions, failed string, mark func(object runtime.Object),
	empty func(object runtime.Object) bool) (runtime.Object, bool, error) {
	object, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	preconditions, err := r.pinned(object, options, failed)
	switch {
	case err != nil:
		return nil, false, err
	case must.Access(object).GetDeletionTimestamp() == nil:
		return r.terminate(ctx, name, preconditions, validate, options, mark)
	case !empty(object):
		return object, false, nil
	}
	return r.Delete(ctx, name, validate, options)
}

// terminate performs the first step of the deletion of an object.
func (r *registry) terminate(ctx context.Context, name string, preconditions storage.Preconditions,
	validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	mark func(object runtime.Object),
) (runtime.Object, bool, error) {
	key, err := r.key(ctx, name)
	if err != nil {
		return nil, false, err
	}
	object, err := r.guarded(ctx, key, false, preconditions, dryrun.IsDryRun(options.DryRun),
		func(existing runtime.Object) (runtime.Object, error) {
			if err := validate(ctx, existing); err != nil {
				return nil, err
			}
			if accessor := must.Access(existing); accessor.GetDeletionTimestamp() == nil {
				now := metav1.Now()
				accessor.SetDeletionTimestamp(&now)
			}
			mark(existing)
			return existing, nil
		})
	if err == nil {
		return object, false, nil
	}
	err = storageerrors.InterpretUpdateError(err, r.resource, name)
	if _, ok := errors.AsType[*apierrors.StatusError](err); !ok {
		err = apierrors.NewInternalError(err)
	}
	return nil, false, err
}

// errDeleteNow means that an object can be removed, and errDeleting means that it is already in deletion.
var (
	errDeleteNow = errors.New("nothing keeps the object")
	errDeleting  = errors.New("the object is being deleted")
)

// mark marks an object as in deletion, and reports whether the object can be removed. If an object is removed without a
// mark, mark returns an empty object, as upstream's registry does. Dry runs and preconditions show this.
func (r *registry) mark(ctx context.Context, key, name string, preconditions storage.Preconditions,
	validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (
	marked runtime.Object, gone bool, err error,
) {
	graceful := false
	marked, err = r.guarded(ctx, key, false, preconditions, dryrun.IsDryRun(options.DryRun),
		func(existing runtime.Object) (runtime.Object, error) {
			if err := validate(ctx, existing); err != nil {
				return nil, err
			}
			var pending bool
			var err error
			if graceful, pending, err = rest.BeforeDelete(r.strategy, ctx, existing, options); err != nil {
				return nil, err
			}
			if pending {
				return existing, errDeleting
			}
			accessor := must.Access(existing)
			if finalizers, changed := r.deletionFinalizers(ctx, accessor, options); changed {
				accessor.SetFinalizers(finalizers)
			}
			if graceful {
				return existing, nil
			}
			if len(accessor.GetFinalizers()) == 0 {
				return nil, errDeleteNow
			}
			markDeleted(accessor)
			return existing, nil
		})
	switch {
	case errors.Is(err, errDeleteNow):
		return r.new(), true, nil
	case errors.Is(err, errDeleting):
		return marked, false, nil
	case err != nil:
		return nil, false, storageerrors.InterpretUpdateError(err, r.qualified(ctx), name)
	}
	return marked, graceful && len(must.Access(marked).GetFinalizers()) == 0 && *options.GracePeriodSeconds == 0, nil
}

func markDeleted(object metav1.Object) {
	now := metav1.Now()
	if object.GetDeletionTimestamp() == nil && object.GetGeneration() > 0 {
		object.SetGeneration(object.GetGeneration() + 1)
	}
	if earlier := object.GetDeletionTimestamp(); earlier == nil || earlier.After(now.Time) {
		object.SetDeletionTimestamp(&now)
	}
	object.SetDeletionGracePeriodSeconds(new(int64))
}

// deletionFinalizers returns the finalizers that pass the propagation policy to the garbage collector, and whether they
// differ from the current ones.
func (r *registry) deletionFinalizers(ctx context.Context, object metav1.Object,
	options *metav1.DeleteOptions) (finalizers []string, changed bool) {
	propagation := r.propagation(ctx, object, options)
	for _, finalizer := range object.GetFinalizers() {
		if finalizer != metav1.FinalizerOrphanDependents && finalizer != metav1.FinalizerDeleteDependents {
			finalizers = append(finalizers, finalizer)
		}
	}
	switch propagation {
	case metav1.DeletePropagationOrphan:
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	return finalizers, !sets.New(finalizers...).Equal(sets.New(object.GetFinalizers()...))
}

// propagation returns the propagation policy of the options or, without one, the policy of a finalizer, or else the
// default of the kind.
func (r *registry) propagation(ctx context.Context, object metav1.Object,
	options *metav1.DeleteOptions) metav1.DeletionPropagation {
	usual := rest.DeleteDependents
	if kind, ok := r.strategy.(rest.GarbageCollectionDeleteStrategy); ok {
		usual = kind.DefaultGarbageCollectionPolicy(ctx)
	}
	if usual == rest.Unsupported {
		return metav1.DeletePropagationBackground
	}
	//lint:ignore SA1019 clients still send it
	orphan := options.OrphanDependents
	switch {
	case orphan != nil && *orphan:
		return metav1.DeletePropagationOrphan
	case orphan != nil:
		return metav1.DeletePropagationBackground
	case options.PropagationPolicy != nil:
		return *options.PropagationPolicy
	}
	for _, finalizer := range object.GetFinalizers() {
		switch finalizer {
		case metav1.FinalizerOrphanDependents:
			return metav1.DeletePropagationOrphan
		case metav1.FinalizerDeleteDependents:
			return metav1.DeletePropagationForeground
		}
	}
	if usual == rest.OrphanDependents {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// deleted returns the response to a deletion that has removed the object.
func (r *registry) deleted(ctx context.Context, last runtime.Object) runtime.Object {
	if r.returnDeleted {
		return last
	}
	resource, accessor := r.qualified(ctx), must.Access(last)
	details := &metav1.StatusDetails{Name: accessor.GetName(), Group: resource.Group, Kind: resource.Resource,
		UID: accessor.GetUID()}
	return &metav1.Status{Status: metav1.StatusSuccess, Details: details}
}

// DeleteCollection deletes the objects of a list one by one, and returns the list. If the options have a version, the
// list has exactly that version, because the real server reads the list in pages. Objects that were created later are
// therefore not deleted.
func (r *registry) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions, listOptions *internalversion.ListOptions) (runtime.Object, error) {
	if listOptions != nil && listOptions.Limit == 0 && listOptions.ResourceVersionMatch == "" &&
		listOptions.ResourceVersion != "" && listOptions.ResourceVersion != "0" {
		listOptions = listOptions.DeepCopy()
		listOptions.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	list, err := r.List(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(object runtime.Object) error {
		accessor := must.Access(object)
		inNamespace := request.WithNamespace(ctx, accessor.GetNamespace())
		if _, _, err := r.Delete(inNamespace, accessor.GetName(), validate, options.DeepCopy()); err != nil &&
			!apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	return list, err
}
