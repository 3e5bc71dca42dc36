package apiserver

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// A policy may reveal its parameters in its messages, so a user who writes a policy or a binding needs permission to
// read the parameters.

// admissionKinds returns the kinds of admissionregistration.k8s.io/v1.
func admissionKinds() []kind {
	return []kind{
		{Kind: builtin.MutatingPolicyKind(), mayWrite: readsParamKind},
		{Kind: builtin.MutatingBindingKind(), mayWrite: readsParams("mutatingadmissionpolicies",
			`user %[2]v does not have "%[1]v" permission on the object referenced by paramRef`)},
		{Kind: builtin.MutatingHookKind},
		{Kind: builtin.PolicyBindingKind(), mayWrite: readsParams("validatingadmissionpolicies",
			`user %v does not have "%v" permission on the object referenced by paramRef`)},
		{Kind: builtin.PolicyKind(), mayWrite: readsParamKind},
		{Kind: builtin.ValidatingHookKind},
	}
}

// paramKindOf returns the kind of the parameters of a policy, or nil.
func paramKindOf(object runtime.Object) *admissionv1.ParamKind {
	if policy, mutating := object.(*admissionv1.MutatingAdmissionPolicy); mutating {
		return policy.Spec.ParamKind
	}
	return object.(*admissionv1.ValidatingAdmissionPolicy).Spec.ParamKind
}

// readsParamKind checks that the writer of a policy has permission to get all objects of its paramKind.
func readsParamKind(ctx context.Context, s *Server, object, old runtime.Object) *field.Error {
	kind := paramKindOf(object)
	if kind == nil {
		return nil
	}
	if old != nil {
		if was := paramKindOf(old); was != nil && *was == *kind {
			return nil
		}
	}
	who, limited := limitedUser(ctx)
	if !limited || s.mayReadParams(ctx, who, kind, "get", "*", "*") {
		return nil
	}
	return field.Forbidden(field.NewPath("spec", "paramKind"),
		fmt.Sprintf(`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`,
			who, kind.Kind, kind.APIVersion))
}

// readsParams returns a check for the bindings of a kind of policies: a user who writes a binding must have
// permission to read the objects that its paramRef selects. lacks is the format of the error message; its
// arguments are the user and the verb.
func readsParams(policies, lacks string) func(ctx context.Context, s *Server, object, old runtime.Object) *field.Error {
	return func(ctx context.Context, s *Server, object, old runtime.Object) *field.Error {
		b := newBinding(object)
		name, ref := b.policy, b.params
		if ref == nil {
			return nil
		}
		if old != nil {
			// Like upstream, this does not compare the targets of the two references.
			if was := newBinding(old); was.params != nil && *was.params == *ref && was.policy == name {
				return nil
			}
		}
		who, limited := limitedUser(ctx)
		if !limited {
			return nil
		}
		verb := "get"
		if ref.Name == "" {
			verb = "list"
		}
		policy, err := s.endpointOf(builtin.AdmissionV1.WithResource(policies)).registry.Get(ctx, name, &metav1.GetOptions{})
		var paramKind *admissionv1.ParamKind
		if err == nil {
			paramKind = paramKindOf(policy)
		}
		if s.mayReadParams(ctx, who, paramKind, verb, ref.Name, ref.Namespace) {
			return nil
		}
		text := fmt.Sprintf(lacks, who, verb)
		const all = `to determine minimum required permissions and user %v does not have "%v" permission for all groups, versions and resources`
		switch {
		case err != nil:
			text = fmt.Sprintf(`unable to get policy %s `+all, name, who, verb)
		case paramKind != nil && s.resourceOfParams(paramKind) == "":
			text = fmt.Sprintf(`unable to resolve paramKind &{%s %s} `+all, paramKind.APIVersion, paramKind.Kind, who, verb)
		}
		return field.Forbidden(field.NewPath("spec", "paramRef"), text)
	}
}

// limitedUser returns the user of a request. It returns false for the server itself and for members of system:masters.
func limitedUser(ctx context.Context) (user.Info, bool) {
	who, ok := request.UserFrom(ctx)
	return who, ok && !isMaster(who)
}

// mayReadParams reports whether a user may read parameters of a kind. If the kind is unknown, the user needs permission
// to read all resources.
func (s *Server) mayReadParams(ctx context.Context, who user.Info, kind *admissionv1.ParamKind, verb, name,
	namespace string) bool {
	asked := authorizer.AttributesRecord{User: who, Verb: verb, APIGroup: "*", APIVersion: "*", Resource: "*", Name: name,
		Namespace: namespace, ResourceRequest: true}
	if kind != nil {
		gv, err := schema.ParseGroupVersion(kind.APIVersion)
		must.Do(err) // the policy is valid
		asked.APIGroup, asked.APIVersion = gv.Group, gv.Version
		if resource := s.resourceOfParams(kind); resource != "" {
			asked.Resource = resource
		}
	}
	decision, _, _ := s.authorizer.Authorize(ctx, asked)
	return decision == authorizer.DecisionAllow
}

// resourceOfParams returns the resource of a kind, or "" if the kind does not exist.
func (s *Server) resourceOfParams(kind *admissionv1.ParamKind) string {
	if objects := s.registryOf(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)); objects != nil {
		return objects.resource.Resource
	}
	return ""
}
