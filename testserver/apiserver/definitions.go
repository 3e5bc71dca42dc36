package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

var (
	definitionScheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		install.Install(scheme)
		metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
		return scheme
	}()
	definitionFamily = family{
		scheme: definitionScheme, hub: apiextensions.SchemeGroupVersion,
		codecs: serializer.NewCodecFactory(definitionScheme, serializer.WithStreamingCollectionEncodingToJSON(),
			serializer.WithStreamingCollectionEncodingToProtobuf()),
	}
)

// definitionKind is the kind CustomResourceDefinition.
var definitionKind = kind{Kind: builtin.Kind{
	GVK: apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), Resource: "customresourcedefinitions",
	Singular: "customresourcedefinition",
	Short:    []string{"crd", "crds"}, Categories: []string{"api-extensions"},
	ModelName: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
	Rules: builtin.Own[*apiextensions.CustomResourceDefinition]{
		Cluster: true, Conditional: true, Reset: []string{"status"},
		Spec: func(crd *apiextensions.CustomResourceDefinition) any { return crd.Spec },
		Create: func(_ context.Context, crd *apiextensions.CustomResourceDefinition) {
			crd.Status = apiextensions.CustomResourceDefinitionStatus{}
			noteStored(crd)
		},
		Update: func(_ context.Context, crd, old *apiextensions.CustomResourceDefinition) {
			crd.Status = old.Status
			noteStored(crd)
		},
		Validate:       validation.ValidateCustomResourceDefinition,
		ValidateUpdate: validation.ValidateCustomResourceDefinitionUpdate,
		Warnings: func(_ context.Context, crd, old *apiextensions.CustomResourceDefinition) []string {
			warnings := definitionWarnings(crd)
			if old == nil {
				return warnings
			}
			known := definitionWarnings(old)
			return slices.DeleteFunc(warnings, func(warning string) bool { return slices.Contains(known, warning) })
		},
	}.VersionedRules(),
	Status: new(builtin.Own[*apiextensions.CustomResourceDefinition]{
		Cluster: true, Conditional: true, Reset: []string{"spec"},
		// Unlike other kinds, definitions accept labels and other metadata from updates of their status: kube-apiserver
		// intends to reset them but does not, see https://github.com/kubernetes/kubernetes/issues/137681.
		Update:         func(_ context.Context, crd, old *apiextensions.CustomResourceDefinition) { crd.Spec = old.Spec },
		ValidateUpdate: validation.ValidateUpdateCustomResourceDefinitionStatus,
	}.VersionedRules()),
	Fields: func(runtime.Object, fields.Set) {},
}}

// noteStored adds the storage version to status.storedVersions.
func noteStored(crd *apiextensions.CustomResourceDefinition) {
	for _, v := range crd.Spec.Versions {
		if !v.Storage {
			continue
		}
		if !apiextensions.IsStoredVersion(crd, v.Name) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
		}
		return // a second storage version is invalid
	}
}

// definitionWarnings returns the warnings for formats that the server does not check, ordered by name, and for sets
// that server-side apply cannot merge.
func definitionWarnings(crd *apiextensions.CustomResourceDefinition) (warnings []string) {
	unmergeable := sets.New[string]()
	visit := func(schema *apiextensions.CustomResourceValidation) {
		if schema == nil || schema.OpenAPIV3Schema == nil {
			return
		}
		validation.SchemaHas(schema.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) bool {
			if s.Format != "" {
				for _, format := range apivalidation.GetUnrecognizedFormats(
					&spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}},
					environment.DefaultCompatibilityVersion()) {
					warnings = append(warnings, fmt.Sprintf("unrecognized format %q", format))
				}
			}
			if s.XListType != nil && *s.XListType == "set" && s.Items != nil && s.Items.Schema != nil &&
				(s.Items.Schema.Type == "object" || s.Items.Schema.Type == "array") {
				unmergeable.Insert(fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side "+
					"apply or CEL validation rules", s.Items.Schema.Type))
			}
			return false
		})
	}
	visit(crd.Spec.Validation)
	for _, v := range crd.Spec.Versions {
		visit(v.Schema)
	}
	slices.Sort(warnings) // they were found in map order
	return append(warnings, sets.List(unmergeable)...)
}

// definitionStorage deletes definitions in two steps. The first step deletes the objects of the definition.
type definitionStorage struct{ *registry }

func (s *definitionStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return s.deleteInSteps(ctx, name, validate, options, "precondition failed", func(object runtime.Object) {
		crd := object.(*apiextensions.CustomResourceDefinition)
		if !apiextensions.CRDHasFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer) {
			crd.Finalizers = append(crd.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
		}
		apiextensions.SetCRDCondition(crd, apiextensions.CustomResourceDefinitionCondition{
			Type: apiextensions.Terminating, Status: apiextensions.ConditionTrue, Reason: "InstanceDeletionPending",
			Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
		})
	}, func(runtime.Object) bool { return true })
}

// definitions are the served definitions, with the state of their reconciliation.
type definitions struct {
	mu     sync.Mutex
	served map[string]*definition                                      // by name
	read   map[*store.Record]*apiextensionsv1.CustomResourceDefinition // stored definitions in v1; immutable

	prepared *preparations // shared with the servers of Fork
	busy     bool          // a goroutine is reconciling definitions
	again    bool          // that goroutine must reconcile once more
}

// reconcileDefinitions reconciles all definitions after one of them was written, before that write returns. It accepts
// names, sets conditions, deletes the objects of definitions in deletion, and ends the endpoints of outdated
// definitions. If several writes are concurrent, one goroutine reconciles for all of them.
func (s *Server) reconcileDefinitions() {
	d := &s.definitions
	d.mu.Lock()
	d.again = true
	if d.busy {
		d.mu.Unlock()
		return
	}
	d.busy = true
	for d.again {
		d.again = false
		d.mu.Unlock()
		crds := s.listDefinitions()
		s.endOutdated(crds)
		for _, crd := range crds {
			s.reconcileDefinition(crd, crds)
		}
		d.mu.Lock()
	}
	d.busy = false
	d.mu.Unlock()
}

// finishDefinition is called after a write of an object, because that write may have removed the last object of a
// definition in deletion.
func (s *Server) finishDefinition(name string) {
	if record := s.crds.table.Get(s.crds.prefix + "/" + name); record != nil &&
		must.Access(record.Object).GetDeletionTimestamp() != nil {
		s.reconcileDefinitions()
	}
}

func (s *Server) listDefinitions() (crds []*apiextensionsv1.CustomResourceDefinition) {
	records, _, err := s.crds.table.List(s.crds.prefix+"/", "", 0)
	must.Do(err)
	for _, r := range records {
		crds = append(crds, s.read(r))
	}
	return crds
}

// read returns the definition of a record in v1. It must not be modified.
func (s *Server) read(r *store.Record) *apiextensionsv1.CustomResourceDefinition {
	s.definitions.mu.Lock()
	defer s.definitions.mu.Unlock()
	crd := s.definitions.read[r]
	if crd == nil {
		maps.DeleteFunc(s.definitions.read, func(old *store.Record,
			_ *apiextensionsv1.CustomResourceDefinition) bool {
			return old.Key == r.Key
		})
		crd = versioned(r.Object)
		s.definitions.read[r] = crd
	}
	return crd
}

// versioned returns a definition in v1, which upstream's helpers require.
func versioned(object runtime.Object) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	must.Do(definitionScheme.Convert(object.DeepCopyObject(), crd, nil))
	return crd
}

// endOutdated ends the endpoints of definitions that have changed.
func (s *Server) endOutdated(crds []*apiextensionsv1.CustomResourceDefinition) {
	now := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range crds {
		now[crd.Name] = crd
	}
	s.definitions.mu.Lock()
	defer s.definitions.mu.Unlock()
	for name, served := range s.definitions.served {
		if crd := now[name]; crd == nil || !served.serves(crd) {
			close(served.stopped)
			delete(s.definitions.served, name)
		}
	}
}

// serves reports whether crd has the same state as the definition in all fields that affect requests.
func (d *definition) serves(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd == d.crd || crd.UID == d.crd.UID && equality.Semantic.DeepEqual(crd.Spec, d.crd.Spec) &&
		equality.Semantic.DeepEqual(crd.Status.AcceptedNames, d.crd.Status.AcceptedNames)
}

// errOutdated reports that a definition was written or deleted since it was read.
var errOutdated = errors.New("the definition is not as it was")

// definition returns the served form of a definition. The first request for one of its objects creates that form. If
// crd is not the stored state, definition fails with errOutdated. Otherwise it would replace a newer served form, and
// end the watches of other requests.
func (s *Server) definition(crd *apiextensionsv1.CustomResourceDefinition) (*definition, error) {
	s.definitions.mu.Lock()
	defer s.definitions.mu.Unlock()
	if d := s.definitions.served[crd.Name]; d != nil && d.serves(crd) {
		return d, nil
	}
	if now := s.crds.table.Get(s.crds.prefix + "/" + crd.Name); now == nil ||
		strconv.FormatInt(now.Revision, 10) != crd.ResourceVersion {
		return nil, errOutdated
	}
	d, err := s.newDefinition(crd)
	if err != nil {
		return nil, err
	}
	if outdated := s.definitions.served[crd.Name]; outdated != nil {
		close(outdated.stopped)
	}
	s.definitions.served[crd.Name] = d
	return d, nil
}

// reconcileDefinition performs the next step for a definition, if one is needed. A step is a write, after which all
// definitions are reconciled again.
func (s *Server) reconcileDefinition(crd *apiextensionsv1.CustomResourceDefinition,
	all []*apiextensionsv1.CustomResourceDefinition) {
	before := crd
	crd = crd.DeepCopy()
	switch {
	case crd.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer):
		s.cleanUp(crd)
		return
	case acceptNames(crd, all):
	case apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) &&
		!apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established):
		apihelpers.SetCRDCondition(crd, condition(apiextensionsv1.Established, apiextensionsv1.ConditionTrue,
			"InitialNamesAccepted", "the initial names have been accepted"))
	case setApproval(crd):
	default:
		return
	}
	if !reflect.DeepEqual(before, crd) {
		s.writeDefinition(crd)
	}
}

func condition(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus,
	reason, message string) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message}
}

// acceptNames accepts those names of a definition that no other definition of the group has. It reports whether the
// status of the definition has changed.
func acceptNames(crd *apiextensionsv1.CustomResourceDefinition, all []*apiextensionsv1.CustomResourceDefinition) bool {
	if equality.Semantic.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames) {
		return false
	}
	resources, names := sets.New[string](), sets.New[string]()
	for _, other := range all {
		if accepted := other.Status.AcceptedNames; other.Spec.Group == crd.Spec.Group {
			resources.Insert(accepted.Plural, accepted.Singular)
			resources.Insert(accepted.ShortNames...)
			names.Insert(accepted.Kind, accepted.ListKind)
		}
	}
	status := condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
	wanted, accepted := crd.Spec.Names, crd.Status.AcceptedNames
	for _, n := range []struct {
		wanted   string
		accepted *string
		used     sets.Set[string]
		reason   string
	}{
		{wanted.Plural, &accepted.Plural, resources, "PluralConflict"},
		{wanted.Singular, &accepted.Singular, resources, "SingularConflict"},
		{wanted.Kind, &accepted.Kind, names, "KindConflict"},
		{wanted.ListKind, &accepted.ListKind, names, "ListKindConflict"},
	} {
		if n.reason == "KindConflict" { // the reason of KindConflict follows the short names
			if err := freeShortNames(wanted.ShortNames, accepted.ShortNames, resources); err != nil {
				status = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, "ShortNamesConflict", err.Error())
			} else {
				accepted.ShortNames = wanted.ShortNames
			}
		}
		if n.wanted != *n.accepted && n.used.Has(n.wanted) {
			status = condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, n.reason,
				fmt.Sprintf("%q is already in use", n.wanted))
			continue
		}
		*n.accepted = n.wanted
	}
	accepted.Categories = wanted.Categories
	if reflect.DeepEqual(crd.Status.AcceptedNames, accepted) && apihelpers.IsCRDConditionEquivalent(&status,
		apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted)) {
		return false
	}
	established := condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted",
		"not all names are accepted")
	if old := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established); old != nil {
		established = *old
	}
	if established.Status != apiextensionsv1.ConditionTrue && status.Status == apiextensionsv1.ConditionTrue {
		established = condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "Installing",
			"the initial names have been accepted")
	}
	crd.Status.AcceptedNames = accepted
	apihelpers.SetCRDCondition(crd, status)
	apihelpers.SetCRDCondition(crd, established)
	return true
}

func freeShortNames(wanted, accepted []string, used sets.Set[string]) error {
	var problems []error
	for _, name := range wanted {
		if !slices.Contains(accepted, name) && used.Has(name) {
			problems = append(problems, fmt.Errorf("%q is already in use", name))
		}
	}
	if aggregate := utilerrors.NewAggregate(problems); aggregate != nil {
		return aggregate
	}
	return nil
}

// setApproval sets the approval condition of a definition in one of Kubernetes' own groups.
func setApproval(crd *apiextensionsv1.CustomResourceDefinition) bool {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return false
	}
	state, message := apihelpers.GetAPIApprovalState(crd.Annotations)
	status, reason := apiextensionsv1.ConditionUnknown, "UnknownAnnotation"
	switch state {
	case apihelpers.APIApprovalInvalid:
		status, reason = apiextensionsv1.ConditionFalse, "InvalidAnnotation"
	case apihelpers.APIApprovalMissing:
		status, reason = apiextensionsv1.ConditionFalse, "MissingAnnotation"
	case apihelpers.APIApproved:
		status, reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		status, reason = apiextensionsv1.ConditionFalse, "UnapprovedAnnotation"
	}
	now := condition(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, status, reason, message)
	old := apihelpers.FindCRDCondition(crd, now.Type)
	if old != nil && old.Status == status && old.Reason == reason && old.Message == message {
		return false
	}
	apihelpers.SetCRDCondition(crd, now)
	return true
}

// writeDefinition writes the status and finalizers of a definition, and returns the written definition. If the
// definition has changed since it was read, writeDefinition returns nil, and the definition is reconciled again.
func (s *Server) writeDefinition(
	crd *apiextensionsv1.CustomResourceDefinition,
) *apiextensionsv1.CustomResourceDefinition {
	internal := &apiextensions.CustomResourceDefinition{}
	must.Do(definitionScheme.Convert(crd, internal, nil))
	status := s.crds.with(s.newStrategy(&definitionKind, definitionFamily, *definitionKind.Status))
	ctx := request.WithRequestInfo(request.WithNamespace(request.NewContext(), ""),
		&request.RequestInfo{APIGroup: definitionKind.GVK.Group, Resource: definitionKind.Resource})
	managed := func(_ context.Context, object, old runtime.Object) (runtime.Object, error) {
		return s.crdScope.FieldManager.UpdateNoErrors(old, object, "kube-apiserver"), nil
	}
	written, _, err := status.Update(ctx, crd.Name, rest.DefaultUpdatedObjectInfo(internal, managed),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		return nil // a conflict, or it is deleted
	}
	return versioned(written)
}

// cleanUp deletes the objects of a definition in deletion, and removes the definition's finalizer when no object
// remains.
func (s *Server) cleanUp(crd *apiextensionsv1.CustomResourceDefinition) {
	progress := condition(apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress",
		"CustomResource deletion is in progress")
	if old := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating); old == nil ||
		old.Reason == "InstanceDeletionPending" {
		apihelpers.SetCRDCondition(crd, progress)
		if crd = s.writeDefinition(crd); crd == nil {
			return
		}
	}
	done := condition(apiextensionsv1.Terminating, apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted",
		"removed all instances")
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		done = condition(apiextensionsv1.Terminating, apiextensionsv1.ConditionFalse, "NeverEstablished",
			"resource was never established")
	} else if left := s.deleteObjects(crd); left {
		return // the deletion of the last object calls cleanUp again
	}
	apihelpers.SetCRDCondition(crd, done)
	apihelpers.CRDRemoveFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer)
	s.writeDefinition(crd)
}

// deleteObjects deletes the objects of a definition, and reports whether finalizers keep some.
func (s *Server) deleteObjects(crd *apiextensionsv1.CustomResourceDefinition) (left bool) {
	d, err := s.definition(crd)
	if err != nil {
		return true
	}
	objects := d.versions[d.storageVersion].registry
	ctx := request.NewContext()
	if _, err := objects.DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, nil); err != nil {
		return true
	}
	records, _, err := objects.table.List(objects.prefix+"/", "", 0)
	return err != nil || len(records) > 0
}

// beginCustom is like begin, for custom resources. It uses the current state of their definition.
func (s *Server) beginCustom(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) http.HandlerFunc {
	record := s.crds.table.Get(s.crds.prefix + "/" + info.Resource + "." + info.APIGroup)
	if record == nil {
		s.notFound(w, r, info.APIGroup)
		return nil
	}
	crd := s.read(record)
	namespaced, named := crd.Spec.Scope == apiextensionsv1.NamespaceScoped, info.Namespace != ""
	across := info.Verb == "list" || info.Verb == "watch"
	conditions := apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) ||
		apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
	if !namespaced && named || namespaced && !named && !across || !apihelpers.HasServedCRDVersion(crd, info.APIVersion) ||
		!conditions {
		http.NotFound(w, r)
		return nil
	}
	d, err := s.definition(crd)
	if errors.Is(err, errOutdated) {
		return s.beginCustom(w, r, info)
	}
	if err != nil {
		writeError(w, r, info, apierrors.NewInternalError(errors.New("error resolving resource")))
		return nil
	}
	e := d.versions[info.APIVersion]
	if crd.DeletionTimestamp != nil || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating) {
		return s.beginOn(w, r, info, e, noCreation{s.admission})
	}
	return s.beginOn(w, r, info, e, s.admission)
}

// noCreation rejects new objects of a definition in deletion.
type noCreation struct{ admissions }

func (n noCreation) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Create {
		return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(),
			errors.New("create not allowed while custom resource definition is terminating"))
	}
	return n.admissions.Admit(ctx, a, o)
}
