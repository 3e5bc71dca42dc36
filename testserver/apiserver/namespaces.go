package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

func namespaces() kind {
	rules, status, finalization := builtin.NamespaceRules()
	row := builtin.Kind{
		GVK: namespaceKind, Resource: "namespaces", Short: []string{"ns"}, Returned: true,
		Verbs:     slices.DeleteFunc(slices.Clone(allVerbs), func(verb string) bool { return verb == "deletecollection" }),
		Deletable: func(updated, _ runtime.Object) bool { return len(updated.(*corev1.Namespace).Spec.Finalizers) == 0 },
		Columns: []builtin.Column{
			builtin.Col("Status", "string", "The status of the namespace",
				func(n *corev1.Namespace) any { return string(n.Status.Phase) }),
			builtin.SinceColumn,
		},
		Fields: func(object runtime.Object, set fields.Set) {
			set["status.phase"], set["name"] = string(object.(*corev1.Namespace).Status.Phase), must.Access(object).GetName()
		},
		Rules:  rules,
		Status: &status,
	}
	return kind{
		Kind: row,
		parts: []extraPart{{
			name: "finalize", kind: namespaceKind, verbs: []string{"update"},
			part: func(s *Server, r *registry, k *kind, f family) part {
				finalize := r.with(s.newStrategy(k, f, finalization))
				return part{storage: updater{subresource{finalize}}, scope: newScope(k, f, "finalize", finalize.GetResetFields(),
					nil)}
			},
		}},
		complete: func(_ *Server, r *registry, e *endpoint) { e.objects = &namespaceStorage{r} },
	}
}

// updater can only update, because the finalize subresource cannot be read.
type updater struct{ rest.Updater }

// namespaceStorage deletes namespaces in two steps. A namespace is terminating until it is empty.
type namespaceStorage struct{ *registry }

func (s *namespaceStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return s.deleteInSteps(ctx, name, validate, options, "Precondition failed", func(object runtime.Object) {
		namespace := object.(*corev1.Namespace)
		namespace.Status.Phase = corev1.NamespaceTerminating
		if finalizers, changed := s.deletionFinalizers(ctx, namespace, options); changed {
			namespace.Finalizers = finalizers
		}
	}, func(object runtime.Object) bool { return len(object.(*corev1.Namespace).Spec.Finalizers) == 0 })
}

// createNamespace creates an initial namespace.
func (s *Server) createNamespace(name string) error {
	_, err := s.endpointOf(builtin.CoreV1.WithResource("namespaces")).objects.Create(
		request.WithNamespace(request.NewContext(), ""),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{corev1.LabelMetadataName: name}}}, nil, &metav1.CreateOptions{})
	return err
}

// namespace returns a namespace, which must not be modified, or nil.
func (s *Server) namespace(name string) *corev1.Namespace {
	record := s.store.Table(schema.GroupResource{Resource: "namespaces"}).Get("/registry/namespaces/" + name)
	if record == nil {
		return nil
	}
	return record.Object.(*corev1.Namespace)
}

// lifecycle enforces the lifecycle of namespaces. It rejects the creation of objects in missing or terminating
// namespaces, and the deletion of some namespaces.
type lifecycle struct{ server *Server }

func (lifecycle) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Delete
}

func (l lifecycle) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetKind().GroupKind() == namespaceKind.GroupKind() {
		if a.GetOperation() == admission.Delete && immortal.Has(a.GetName()) {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(),
				errors.New("this namespace may not be deleted"))
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
	status := forbidden(a, fmt.Sprintf("unable to create new content in namespace %s because it is being terminated",
		a.GetNamespace()))
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()),
		Field: "metadata.namespace",
	})
	return status
}

// localReviews check permissions in a namespace even if the namespace does not exist, so that clients cannot find out
// which namespaces exist.
var localReviews = schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}

var immortal = sets.New("default", "kube-system", "kube-public")
