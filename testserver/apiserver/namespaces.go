package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

func namespaces() kind {
	row := builtin.Kind{
		GVK: namespaceKind, Resource: "namespaces", Short: []string{"ns"}, Returned: true,
		Verbs:     slices.DeleteFunc(slices.Clone(allVerbs), func(verb string) bool { return verb == "deletecollection" }),
		Deletable: func(updated, _ runtime.Object) bool { return len(updated.(*corev1.Namespace).Spec.Finalizers) == 0 },
		Columns: []builtin.Column{
			builtin.Col("Status", "string", "The status of the namespace", func(n *corev1.Namespace) any { return string(n.Status.Phase) }),
			builtin.SinceColumn,
		},
		Selectable: []string{"status.phase"},
		Fields: func(object runtime.Object, set fields.Set) {
			set["status.phase"], set["name"] = string(object.(*corev1.Namespace).Status.Phase), must.Access(object).GetName()
		},
		Rules: builtin.Rules{
			Unconditional: true, Reset: []string{"status"},
			Create: func(object runtime.Object) {
				namespace := object.(*corev1.Namespace)
				namespace.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
				if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
					namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
				}
			},
			Update: func(object, old runtime.Object) {
				namespace, was := object.(*corev1.Namespace), old.(*corev1.Namespace)
				namespace.Spec.Finalizers, namespace.Status = was.Spec.Finalizers, was.Status
			},
			Canonicalize: func(object runtime.Object) { labelNamespace(object.(*corev1.Namespace)) },
			Validate:     validateNamespace,
			ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
				return append(validateNamespace(object), builtin.ValidateMetadataUpdate(object, old)...)
			},
		},
		Status: &builtin.Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: func(object, old runtime.Object) {
				object.(*corev1.Namespace).Spec = old.(*corev1.Namespace).Spec
			},
			ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
				problems, namespace := builtin.ValidateMetadataUpdate(object, old), object.(*corev1.Namespace)
				path, phase := field.NewPath("status", "Phase"), namespace.Status.Phase
				switch {
				case namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceActive:
					problems = append(problems, field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
				case !namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceTerminating:
					problems = append(problems, field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
				}
				return problems
			},
		},
	}
	return kind{
		Kind: row,
		parts: []extraPart{{
			name: "finalize", kind: namespaceKind, verbs: []string{"update"},
			part: func(s *Server, r *registry, k *kind, f family) part {
				finalize := r.with(&kindStrategy{f.scheme, s.names, genericStoreOnly{}, s, k, finalizeRules(), nil})
				return part{storage: updater{subresource{finalize}}, scope: newScope(k, f, "finalize", finalize.GetResetFields(), nil)}
			},
		}},
		complete: func(_ *Server, r *registry, e *endpoint) { e.objects = &namespaceStorage{r} },
	}
}

func validateNamespace(object runtime.Object) (problems field.ErrorList) {
	namespace := object.(*corev1.Namespace)
	problems = builtin.ValidateMetadata(&namespace.ObjectMeta, false, validation.ValidateNamespaceName)
	for _, finalizer := range namespace.Spec.Finalizers {
		problems = append(problems, builtin.ValidateFinalizer(string(finalizer), field.NewPath("spec", "finalizers"))...)
	}
	return problems
}

// finalizeRules are those of the finalize subresource of namespaces, by which what empties a namespace lets it go.
func finalizeRules() builtin.Rules {
	return builtin.Rules{
		Unconditional: true, Reset: []string{"status"},
		Update: func(object, old runtime.Object) {
			object.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
		},
		ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
			problems := builtin.ValidateMetadataUpdate(object, old)
			for i, finalizer := range object.(*corev1.Namespace).Spec.Finalizers {
				problems = append(problems, builtin.ValidateFinalizer(string(finalizer), field.NewPath("spec", "finalizers").Index(i))...)
			}
			return problems
		},
	}
}

func labelNamespace(namespace *corev1.Namespace) {
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[corev1.LabelMetadataName] = namespace.Name
}

// updater can only update: the finalize subresource cannot be read.
type updater struct{ rest.Updater }

// namespaceStorage deletes namespaces in two steps: they terminate until nothing is in them.
type namespaceStorage struct{ *registry }

func (s *namespaceStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	object, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := object.(*corev1.Namespace)
	preconditions, err := s.pinned(object, options, "Precondition failed")
	if err != nil {
		return nil, false, err
	}
	if namespace.DeletionTimestamp.IsZero() {
		return s.terminate(ctx, name, preconditions, validate, options, func(object runtime.Object) {
			namespace := object.(*corev1.Namespace)
			namespace.Status.Phase = corev1.NamespaceTerminating
			if finalizers, changed := s.deletionFinalizers(ctx, namespace, options); changed {
				namespace.Finalizers = finalizers
			}
		})
	}
	if len(namespace.Spec.Finalizers) > 0 {
		return namespace, false, nil
	}
	return s.registry.Delete(ctx, name, validate, options)
}

// createNamespace makes a namespace that is there from the start.
func (s *Server) createNamespace(name string) error {
	_, err := s.endpointOf(builtin.CoreV1.WithResource("namespaces")).objects.Create(request.WithNamespace(request.NewContext(), ""),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}, nil, &metav1.CreateOptions{})
	return err
}

// namespace is a namespace, which nobody changes, or nil.
func (s *Server) namespace(name string) *corev1.Namespace {
	record := s.store.Table(schema.GroupResource{Resource: "namespaces"}).Get("/registry/namespaces/" + name)
	if record == nil {
		return nil
	}
	return record.Object.(*corev1.Namespace)
}

// lifecycle admits what the namespaces allow: nothing is made in one that is not there or is being deleted, and some stay.
type lifecycle struct{ server *Server }

func (lifecycle) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Delete
}

func (l lifecycle) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetKind().GroupKind() == namespaceKind.GroupKind() {
		if a.GetOperation() == admission.Delete && immortal.Has(a.GetName()) {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if a.GetNamespace() == "" || a.GetOperation() != admission.Create || a.GetResource().GroupResource() == localReviews {
		return nil
	}
	namespace := l.server.namespace(a.GetNamespace())
	if namespace == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, a.GetNamespace())
	}
	if namespace.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err := admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()), Field: "metadata.namespace",
		})
	}
	return err
}

// localReviews ask who may do what in a namespace, whatever there is of it: who asks is not to learn that.
var localReviews = schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}

var immortal = sets.New("default", "kube-system", "kube-public")

func namespaceDefaults() []builtin.Defaulter {
	return []builtin.Defaulter{
		builtin.DefaultsOf(func(namespace *corev1.Namespace) {
			if namespace.Name != "" {
				labelNamespace(namespace)
			}
		}),
		builtin.DefaultsOf(func(status *corev1.NamespaceStatus) { builtin.Set(&status.Phase, corev1.NamespaceActive) }),
	}
}
