package apiserver

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	rulematcher "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
)

// admissions run the admission of a write in the real server's order: first mutation, then validation.
type admissions struct {
	chain interface {
		admission.MutationInterface
		admission.ValidationInterface
	}
}

func (admissions) Handles(admission.Operation) bool { return true }

// Admit runs the admission. If a webhook or policy has changed the object, Admit runs it again, and calls only the
// webhooks and policies whose reinvocation policy requests this.
func (as admissions) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	again := a.GetReinvocationContext()
	if err := as.chain.Admit(ctx, a, ownVersions{o}); err != nil || !again.ShouldReinvoke() {
		return err
	}
	again.SetIsReinvoke()
	return as.chain.Admit(ctx, a, ownVersions{o})
}

func (as admissions) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return as.chain.Validate(ctx, a, ownVersions{o})
}

func (s *Server) newAdmissions() admissions {
	return admissions{admission.NewChainHandler(
		lifecycle{s},
		presets{s},
		s.newMutatingPolicies(),
		&mutatingWebhooks{s.newWebhooks(&builtin.MutatingHookKind, func(object runtime.Object) []builtin.Hook {
			return builtin.MutatingHooks(object.(*admissionv1.MutatingWebhookConfiguration))
		})},
		s.newPolicies(),
		&validatingWebhooks{s.newWebhooks(&builtin.ValidatingHookKind, func(object runtime.Object) []builtin.Hook {
			return builtin.ValidatingHooks(object.(*admissionv1.ValidatingWebhookConfiguration))
		})},
	)}
}

// forbidden returns the error of a plugin that rejects a write.
func forbidden(a admission.Attributes, reason string) *apierrors.StatusError {
	return admission.NewForbidden(a, errors.New(reason)).(*apierrors.StatusError)
}

// exempt reports whether a write is exempt from policies. Otherwise, a policy could lock out its own administrator.
func exempt(a admission.Attributes) bool {
	return builtin.Reviews.Has(a.GetResource().GroupResource()) || rulematcher.IsExemptAdmissionConfigurationResource(a)
}

// ownVersions also converts objects of Go types to their own version, which is the hub of most kinds in this server.
type ownVersions struct{ admission.ObjectInterfaces }

func (o ownVersions) GetObjectConvertor() runtime.ObjectConvertor {
	return ownConverter{o.ObjectInterfaces.GetObjectConvertor()}
}

type ownConverter struct{ runtime.ObjectConvertor }

func (c ownConverter) Convert(in, out, hint any) error {
	_, free := in.(runtime.Unstructured)
	if free || reflect.TypeOf(in) != reflect.TypeOf(out) {
		return c.ObjectConvertor.Convert(in, out, hint)
	}
	object := in.(runtime.Object).DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(object).Elem())
	return nil
}

// matching has the conditions under which a webhook or a policy applies to an object.
type matching struct {
	namespaces, objects       labels.Selector
	namespacesErr, objectsErr error
	policy                    *admissionv1.MatchPolicyType
	rules, excluded           []admissionv1.NamedRuleWithOperations
}

func newMatching(namespaces, objects *metav1.LabelSelector, policy *admissionv1.MatchPolicyType,
	rules []admissionv1.NamedRuleWithOperations) matching {
	m := matching{policy: policy, rules: rules}
	m.namespaces, m.namespacesErr = metav1.LabelSelectorAsSelector(namespaces)
	m.objects, m.objectsErr = metav1.LabelSelectorAsSelector(objects)
	return m
}

// subject is the kind and resource as which an object is reviewed.
type subject struct {
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
}

// selected reports whether the selectors select an object. The caller reports an error only if the rules match.
func (m *matching) selected(s *Server, a admission.Attributes) (bool, *apierrors.StatusError) {
	namespace, err := s.selectsNamespace(m, a)
	if !namespace && err == nil {
		return false, nil
	}
	if m.objectsErr != nil {
		return true, apierrors.NewInternalError(m.objectsErr)
	}
	if !m.objects.Empty() && !selects(m.objects, a.GetObject()) && !selects(m.objects, a.GetOldObject()) {
		return false, nil
	}
	return true, err
}

func selects(selector labels.Selector, object runtime.Object) bool {
	if object == nil {
		return false
	}
	accessor, err := meta.Accessor(object)
	return err == nil && selector.Matches(labels.Set(accessor.GetLabels()))
}

func (s *Server) selectsNamespace(m *matching, a admission.Attributes) (bool, *apierrors.StatusError) {
	isNamespace := a.GetResource().Resource == "namespaces"
	switch {
	case a.GetNamespace() == "" && !isNamespace:
		return true, nil
	case m.namespacesErr != nil:
		return false, apierrors.NewInternalError(m.namespacesErr)
	case m.namespaces.Empty():
		return true, nil
	case isNamespace && a.GetSubresource() == "" && (a.GetOperation() == admission.Create ||
		a.GetOperation() == admission.Update):
		return selects(m.namespaces, a.GetObject()), nil
	}
	namespace := s.namespace(a.GetNamespace())
	if namespace == nil {
		return false, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, a.GetNamespace())
	}
	return m.namespaces.Matches(labels.Set(namespace.Labels)), nil
}

// match finds the rule that applies to an object in the requested version or, with the match policy Equivalent, in
// another version.
func (m *matching) match(rulesOf []admissionv1.NamedRuleWithOperations, a admission.Attributes,
	o admission.ObjectInterfaces) (found subject, ok bool, err error) {
	for _, rule := range rulesOf {
		if matchesRule(&rule, a) {
			return subject{a.GetKind(), a.GetResource()}, true, nil
		}
	}
	if m.policy == nil || *m.policy != admissionv1.Equivalent {
		return subject{}, false, nil
	}
	mapper := o.GetEquivalentResourceMapper()
	equivalents := mapper.EquivalentResourcesFor(a.GetResource(), a.GetSubresource())
	for _, rule := range rulesOf {
		for _, equivalent := range equivalents {
			if equivalent == a.GetResource() || !matchesRule(&rule, otherResource{a, equivalent}) {
				continue
			}
			kind := mapper.KindFor(equivalent, a.GetSubresource())
			if kind.Empty() {
				return subject{}, false, fmt.Errorf("unable to convert to %v: unknown kind", equivalent)
			}
			return subject{kind, equivalent}, true, nil
		}
	}
	return subject{}, false, nil
}

func matchesRule(rule *admissionv1.NamedRuleWithOperations, a admission.Attributes) bool {
	m := rulematcher.Matcher{Rule: rule.RuleWithOperations, Attr: a}
	return m.Matches() && (len(rule.ResourceNames) == 0 || sets.New(rule.ResourceNames...).Has(a.GetName()))
}

// otherResource has the attributes that a write would have if it had been requested as another resource.
type otherResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (o otherResource) GetResource() schema.GroupVersionResource { return o.resource }
