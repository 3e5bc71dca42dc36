package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionreviewv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	rulematcher "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/rest"
)

// admissions are what a write passes before it is stored, in the order of the real server: it may be changed first, and checked then.
type admissions struct {
	plugins  []admission.MutationInterface // that each server has
	changing *mutatingPolicies
	mutating *mutatingWebhooks
	policies *validatingPolicies
	checking *validatingWebhooks
}

func (admissions) Handles(admission.Operation) bool { return true }

// Admit lets everything look a second time at an object that a webhook has changed, as far as the others want to.
func (as admissions) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if err := as.admit(ctx, a, o); err != nil {
		return err
	}
	again := a.GetReinvocationContext()
	if !again.ShouldReinvoke() {
		return nil
	}
	again.SetIsReinvoke()
	return as.admit(ctx, a, o)
}

func (as admissions) admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	for _, plugin := range as.plugins {
		if plugin.Handles(a.GetOperation()) {
			if err := plugin.Admit(ctx, a, o); err != nil {
				return err
			}
		}
	}
	if err := as.changing.Admit(ctx, a, ownVersions{o}); err != nil {
		return err
	}
	return as.mutating.Admit(ctx, a, ownVersions{o})
}

func (as admissions) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	for _, plugin := range as.plugins {
		if checks, ok := plugin.(admission.ValidationInterface); ok && plugin.Handles(a.GetOperation()) {
			if err := checks.Validate(ctx, a, o); err != nil {
				return err
			}
		}
	}
	if err := as.policies.Validate(ctx, a, ownVersions{o}); err != nil {
		return err
	}
	return as.checking.Validate(ctx, a, ownVersions{o})
}

// plugins are those that each server has, but for one that takes objects as they are.
func (s *Server) plugins() []admission.MutationInterface {
	if s.options.Unchecked {
		return nil
	}
	return []admission.MutationInterface{lifecycle{s}, presets{s}}
}

func (s *Server) newAdmissions() admissions {
	return admissions{
		s.plugins(),
		s.newMutatingPolicies(),
		&mutatingWebhooks{s.newWebhooks(&mutatingHookKind, func(object runtime.Object) []hook {
			return mutatingHooks(object.(*admissionv1.MutatingWebhookConfiguration))
		})},
		s.newPolicies(),
		&validatingWebhooks{s.newWebhooks(&validatingHookKind, func(object runtime.Object) []hook {
			return validatingHooks(object.(*admissionv1.ValidatingWebhookConfiguration))
		})},
	}
}

// exempt reports whether nothing that is in the server decides about a write: else one could lock oneself out.
func exempt(a admission.Attributes) bool {
	return reviews.Has(a.GetResource().GroupResource()) || rulematcher.IsExemptAdmissionConfigurationResource(a)
}

// ownVersions convert objects of Go types to their own version too, which is the hub of most kinds here.
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

// matching is what an object has to be such that a webhook or a policy is about it.
type matching struct {
	namespaces, objects       labels.Selector
	namespacesErr, objectsErr error
	policy                    *admissionv1.MatchPolicyType
	rules, excluded           []admissionv1.NamedRuleWithOperations
}

func newMatching(namespaces, objects *metav1.LabelSelector, policy *admissionv1.MatchPolicyType, rules []admissionv1.NamedRuleWithOperations) matching {
	m := matching{policy: policy, rules: rules}
	m.namespaces, m.namespacesErr = metav1.LabelSelectorAsSelector(namespaces)
	m.objects, m.objectsErr = metav1.LabelSelectorAsSelector(objects)
	return m
}

// subject is the kind and resource as which an object is looked at.
type subject struct {
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
}

// selected reports whether the selectors select an object. An error counts only if the rules match.
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
	case isNamespace && a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update):
		return selects(m.namespaces, a.GetObject()), nil
	}
	namespace := s.namespace(a.GetNamespace())
	if namespace == nil {
		return false, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, a.GetNamespace())
	}
	return m.namespaces.Matches(labels.Set(namespace.Labels)), nil
}

// match finds the rule that is about an object: as it was asked for, else, where equivalents count, in another version.
func (m *matching) match(rulesOf []admissionv1.NamedRuleWithOperations, a admission.Attributes, o admission.ObjectInterfaces) (found subject, ok bool, err error) {
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

// otherResource is an object as if it had been asked for as another resource.
type otherResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (o otherResource) GetResource() schema.GroupVersionResource { return o.resource }

// webhooks call what webhook configurations name.
type webhooks struct {
	server  *Server
	table   *table
	hooksOf func(object runtime.Object) []hook

	mu       sync.Mutex
	compiled map[*record][]*compiledHook // of the configurations that are stored
}

// compiledHook is a webhook that may be asked.
type compiledHook struct {
	hook
	matching
	conditions func() matchconditions.Matcher
}

func (s *Server) newWebhooks(k *kind, hooksOf func(object runtime.Object) []hook) *webhooks {
	return &webhooks{server: s, table: s.tableOf(k), hooksOf: hooksOf}
}

// tableOf has the objects of a built-in kind.
func (s *Server) tableOf(k *kind) *table {
	return s.store.table(schema.GroupResource{Group: k.gvk.Group, Resource: k.resource})
}

// all are the webhooks, in the order of the names of their configurations.
func (ws *webhooks) all() []*compiledHook {
	records, _, err := ws.table.list("/", "", 0)
	must(err)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var all [][]*compiledHook
	ws.compiled, all = kept(ws.compiled, records, func(r *record) (of []*compiledHook) {
		for _, h := range ws.hooksOf(r.object) {
			of = append(of, newHook(h))
		}
		return of
	})
	return slices.Concat(all...)
}

func newHook(h hook) *compiledHook {
	named := make([]admissionv1.NamedRuleWithOperations, len(h.Rules))
	for i := range h.Rules {
		named[i].RuleWithOperations = h.Rules[i]
	}
	c := &compiledHook{hook: h, matching: newMatching(h.NamespaceSelector, h.ObjectSelector, h.MatchPolicy, named)}
	c.conditions = sync.OnceValue(func() matchconditions.Matcher {
		expressions := make([]plugincel.ExpressionAccessor, len(h.MatchConditions))
		for i := range h.MatchConditions {
			expressions[i] = (*matchconditions.MatchCondition)(&h.MatchConditions[i])
		}
		compiler := plugincel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
		condition := compiler.CompileCondition(expressions, plugincel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
		return matchconditions.NewMatcher(condition, h.FailurePolicy, "webhook", "", h.Name)
	})
	return c
}

// wanted reports whether a webhook is to be asked about an object, and as what it looks at it.
func (ws *webhooks) wanted(ctx context.Context, h *compiledHook, a admission.Attributes, o admission.ObjectInterfaces, versioned func(schema.GroupVersionKind) (*admission.VersionedAttributes, error)) (*subject, error) {
	selected, selection := h.selected(ws.server, a)
	if !selected {
		return nil, nil
	}
	found, ok, err := h.match(h.matching.rules, a, o)
	switch {
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	case !ok:
		return nil, nil
	case selection != nil:
		return nil, selection
	case len(h.MatchConditions) == 0:
		return &found, nil
	}
	attributes, err := versioned(found.kind)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	switch result := h.conditions().Match(ctx, attributes, nil, ws.server.authorizer); {
	case result.Error != nil:
		return nil, apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), result.Error)
	case !result.Matches:
		return nil, nil
	}
	return &found, nil
}

// ignored reports whether nothing comes of it that a webhook could not be asked.
func (h *hook) ignored(err error) bool {
	var failed *webhook.ErrCallingWebhook
	return errors.As(err, &failed) && h.FailurePolicy != nil && *h.FailurePolicy == admissionv1.Ignore
}

// refusal is what a client gets of an error of a webhook.
func refusal(err error) error {
	var failed *webhook.ErrCallingWebhook
	var rejected *webhook.ErrWebhookRejection
	switch {
	case errors.As(err, &failed):
		return apierrors.NewInternalError(err)
	case errors.As(err, &rejected):
		return rejected.Status
	}
	return err
}

// reply is what a webhook has answered.
type reply struct {
	patch    []byte
	kind     admissionreviewv1.PatchType
	result   *metav1.Status
	warnings []string
}

// ask asks a webhook about an object.
func (ws *webhooks) ask(ctx context.Context, uid types.UID, h *compiledHook, as *subject, a *admission.VersionedAttributes) (*reply, error) {
	failed := func(reason error, status *apierrors.StatusError) error {
		return &webhook.ErrCallingWebhook{WebhookName: h.Name, Reason: reason, Status: status}
	}
	if a.Attributes.IsDryRun() {
		if h.SideEffects == nil {
			//lint:ignore ST1005 the text of the real server
			return nil, failed(errors.New("Webhook SideEffects is nil"), apierrors.NewBadRequest("Webhook SideEffects is nil"))
		}
		if *h.SideEffects != admissionv1.SideEffectClassNone && *h.SideEffects != admissionv1.SideEffectClassNoneOnDryRun {
			return nil, webhookerrors.NewDryRunUnsupportedErr(h.Name)
		}
	}
	r := newReview(uid, h.AdmissionReviewVersions, as, a)
	if r == nil {
		return nil, failed(errors.New("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"), apierrors.NewBadRequest("error creating admission objects"))
	}
	client, err := ws.server.clients().HookClient(clientConfig(h.Name, h.ClientConfig))
	if err != nil {
		return nil, failed(fmt.Errorf("could not get REST client: %w", err), apierrors.NewInternalError(err))
	}
	if h.TimeoutSeconds != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*h.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	request := client.Post().Body(r.request)
	if deadline, ok := ctx.Deadline(); ok {
		if timeout := time.Until(deadline); timeout > 0 {
			request.Timeout((timeout + time.Second - 1).Truncate(time.Second))
		}
	}
	if err := request.Do(ctx).Into(r.response); err != nil {
		status, ok := err.(*apierrors.StatusError)
		if !ok {
			status = apierrors.NewServiceUnavailable("error calling webhook")
		}
		return nil, failed(fmt.Errorf("failed to call webhook: %w", err), status)
	}
	answer, err := r.verified(h.mutating)
	if err != nil {
		return nil, failed(fmt.Errorf("received invalid webhook response: %w", err), apierrors.NewServiceUnavailable("error validating webhook response"))
	}
	said := &reply{patch: answer.Patch, result: answer.Result, warnings: answer.Warnings}
	if answer.PatchType != nil {
		said.kind = *answer.PatchType
	}
	if !answer.Allowed {
		return said, &webhook.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(h.Name, answer.Result)}
	}
	return said, nil
}

func clientConfig(name string, client admissionv1.WebhookClientConfig) webhook.ClientConfig {
	config := webhook.ClientConfig{Name: name, CABundle: client.CABundle}
	if client.URL != nil {
		config.URL = *client.URL
	}
	if service := client.Service; service != nil {
		config.Service = &webhook.ClientConfigService{Name: service.Name, Namespace: service.Namespace, Port: 443, Path: pointed(service.Path)}
		if service.Port != nil {
			config.Service.Port = *service.Port
		}
	}
	return config
}

// mutatingWebhooks ask one webhook after the other, each of which sees what those before it have changed.
type mutatingWebhooks struct{ *webhooks }

const mutatingName = "MutatingAdmissionWebhook"

// invocations is what is known of the webhooks, or the policies, that have been asked about one object.
type invocations[K comparable] struct {
	last  runtime.Object // the object after the last of them
	asked sets.Set[K]    // those that want to be asked again after a change
	again sets.Set[K]    // those of them after which there was one
}

// invocationsOf is what is known by the name of a plugin.
func invocationsOf[K comparable](again admission.ReinvocationContext, plugin string) *invocations[K] {
	known, ok := again.Value(plugin).(*invocations[K])
	if !ok {
		known = &invocations[K]{again: sets.New[K](), asked: sets.New[K]()}
		again.SetValue(plugin, known)
	}
	return known
}

// begin compares the object with what it was when the last of them had been asked.
func (i *invocations[K]) begin(a admission.Attributes) {
	if a.GetReinvocationContext().IsReinvoke() && !equality.Semantic.DeepEqual(i.last, a.GetObject()) {
		i.changed()
	}
}

// end keeps the object.
func (i *invocations[K]) end(a admission.Attributes) {
	if i.last = a.GetObject(); i.last != nil {
		i.last = i.last.DeepCopyObject()
	}
}

type hookKey struct {
	configuration string
	index         int
}

func (h *hook) key() hookKey { return hookKey{h.configuration, h.index} }

// changed says that those who were asked are to be asked again.
func (i *invocations[K]) changed() {
	i.again = i.again.Union(i.asked)
	i.asked = sets.New[K]()
}

func (m *mutatingWebhooks) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if exempt(a) {
		return nil
	}
	hooks := m.all()
	if len(hooks) == 0 {
		return nil
	}
	known := invocationsOf[hookKey](a.GetReinvocationContext(), mutatingName)
	known.begin(a)
	defer known.end(a)
	return m.admit(ctx, a, o, hooks, known)
}

func (m *mutatingWebhooks) admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, hooks []*compiledHook, known *invocations[hookKey]) error {
	var current *admission.VersionedAttributes
	versioned := func(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
		if current == nil {
			current, err = admission.NewVersionedAttributes(a, kind, o)
		} else {
			err = admission.ConvertVersionedAttributes(current, kind, o)
		}
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		return current, nil
	}
	again := a.GetReinvocationContext()
	for _, h := range hooks {
		looked := a
		if current != nil {
			looked = current
		}
		as, err := m.wanted(ctx, h, looked, o, versioned)
		if err != nil {
			return err
		}
		if as == nil || again.IsReinvoke() && !known.again.Has(h.key()) {
			continue
		}
		attributes, err := versioned(as.kind)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		changed, err := m.change(ctx, h, as, attributes, o)
		if changed {
			known.changed()
			again.SetShouldReinvoke()
		}
		if h.reinvocation != nil && *h.reinvocation == admissionv1.IfNeededReinvocationPolicy {
			known.asked.Insert(h.key())
		}
		switch {
		case err == nil:
		case !h.ignored(err):
			return refusal(err)
		case ctx.Err() != nil:
			return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
		}
	}
	if current != nil && current.VersionedObject.Object() != nil && current.Dirty {
		return o.GetObjectConvertor().Convert(current.VersionedObject.Object(), a.GetObject(), nil)
	}
	return nil
}

// change asks a webhook and applies its patch. It reports whether that has changed the object.
func (m *mutatingWebhooks) change(ctx context.Context, h *compiledHook, as *subject, a *admission.VersionedAttributes, o admission.ObjectInterfaces) (bool, error) {
	said, err := m.ask(ctx, m.server.names.uid(), h, as, a)
	if said != nil {
		warn(ctx, said.warnings)
	}
	if err != nil || len(said.patch) == 0 {
		return false, err
	}
	patch, err := jsonpatch.DecodePatch(said.patch)
	if err != nil {
		return false, &webhook.ErrCallingWebhook{
			WebhookName: h.Name, Reason: fmt.Errorf("received undecodable patch in webhook response: %w", err), Status: apierrors.NewServiceUnavailable("error decoding patch in webhook response"),
		}
	}
	object := a.VersionedObject.Object()
	switch {
	case len(patch) == 0:
		return false, nil
	case object == nil:
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	case said.kind != admissionreviewv1.PatchTypeJSONPatch:
		return false, &webhook.ErrCallingWebhook{WebhookName: h.Name, Reason: fmt.Errorf("unsupported patch type %q", said.kind), Status: webhookerrors.ToStatusErr(h.Name, said.result)}
	}
	patched, err := patchObject(object, patch, a.VersionedKind, o)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed := !equality.Semantic.DeepEqual(object, patched)
	a.UpdateObject(patched)
	o.GetObjectDefaulter().Default(patched)
	return changed, nil
}

func patchObject(object runtime.Object, patch jsonpatch.Patch, kind schema.GroupVersionKind, o admission.ObjectInterfaces) (runtime.Object, error) {
	codec := json.NewSerializerWithOptions(json.DefaultMetaFactory, o.GetObjectCreater(), o.GetObjectTyper(), json.SerializerOptions{})
	data, err := runtime.Encode(codec, object)
	if err != nil {
		return nil, err
	}
	if data, err = patch.Apply(data); err != nil {
		return nil, err
	}
	var patched runtime.Object = &unstructured.Unstructured{}
	if _, free := object.(*unstructured.Unstructured); !free {
		if patched, err = o.GetObjectCreater().New(kind); err != nil {
			return nil, err
		}
	}
	patched, _, err = codec.Decode(data, nil, patched)
	return patched, err
}

func warn(ctx context.Context, texts []string) {
	for _, text := range texts {
		warning.AddWarning(ctx, "", text)
	}
}

// validatingWebhooks ask all webhooks at once.
type validatingWebhooks struct{ *webhooks }

func (v *validatingWebhooks) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if exempt(a) {
		return nil
	}
	known := map[schema.GroupVersionKind]*admission.VersionedAttributes{}
	versioned := func(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
		if known[kind] == nil {
			known[kind], err = admission.NewVersionedAttributes(a, kind, o)
		}
		return known[kind], err
	}
	type question struct {
		hook *compiledHook
		as   *subject
	}
	var questions []question
	for _, h := range v.all() {
		as, err := v.wanted(ctx, h, a, o, versioned)
		if err != nil {
			return err
		}
		if as == nil {
			continue
		}
		if _, err := versioned(as.kind); err != nil {
			return apierrors.NewInternalError(err)
		}
		questions = append(questions, question{h, as})
	}
	if len(questions) > 0 && ctx.Err() != nil {
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	replies, errs := make([]*reply, len(questions)), make([]error, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		attributes, uid := known[q.as.kind], v.server.names.uid() // in the order of the webhooks
		all.Go(func() { replies[i], errs[i] = v.ask(ctx, uid, q.hook, q.as, attributes) })
	}
	all.Wait()
	var first error
	for i, q := range questions {
		if replies[i] != nil {
			warn(ctx, replies[i].warnings)
		}
		if err := errs[i]; err != nil && first == nil && !q.hook.ignored(err) {
			first = refusal(err)
		}
	}
	return first
}

// review is a question to a webhook, in the version that it wants.
type review struct {
	uid               types.UID
	request, response runtime.Object
}

func newReview(uid types.UID, versions []string, as *subject, a *admission.VersionedAttributes) *review {
	for _, version := range versions {
		if !isReviewVersion(version) {
			continue
		}
		question := newQuestion(uid, as, a)
		r := &review{uid, &oldReview{Request: question}, &oldReview{}}
		if version == "v1" {
			r.request, r.response = &admissionreviewv1.AdmissionReview{Request: question}, &admissionreviewv1.AdmissionReview{}
		}
		return r
	}
	return nil
}

func newQuestion(uid types.UID, as *subject, a *admission.VersionedAttributes) *admissionreviewv1.AdmissionRequest {
	user, dryRun := a.GetUserInfo(), a.IsDryRun()
	info := authenticationv1.UserInfo{Username: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups(), Extra: map[string]authenticationv1.ExtraValue{}}
	for key, value := range user.GetExtra() {
		info.Extra[key] = value
	}
	requestKind, requestResource := metav1.GroupVersionKind(a.GetKind()), metav1.GroupVersionResource(a.GetResource())
	return &admissionreviewv1.AdmissionRequest{
		UID: uid, Kind: metav1.GroupVersionKind(as.kind), Resource: metav1.GroupVersionResource(as.resource), SubResource: a.GetSubresource(),
		RequestKind: &requestKind, RequestResource: &requestResource, RequestSubResource: a.GetSubresource(),
		Name: a.GetName(), Namespace: a.GetNamespace(), Operation: admissionreviewv1.Operation(a.GetOperation()), UserInfo: info,
		Object: runtime.RawExtension{Object: a.VersionedObject.Object()}, OldObject: runtime.RawExtension{Object: a.VersionedOldObject.Object()},
		DryRun: &dryRun, Options: runtime.RawExtension{Object: a.GetOperationOptions()},
	}
}

// oldReview is an AdmissionReview of v1beta1, which has the fields of v1.
type oldReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *admissionreviewv1.AdmissionRequest  `json:"request,omitempty"`
	Response        *admissionreviewv1.AdmissionResponse `json:"response,omitempty"`
}

// DeepCopyObject copies the review.
func (r *oldReview) DeepCopyObject() runtime.Object {
	return &oldReview{r.TypeMeta, r.Request.DeepCopy(), r.Response.DeepCopy()}
}

var oldReviewVersion = schema.GroupVersion{Group: admissionreviewv1.GroupName, Version: "v1beta1"}

func addOldReview(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(oldReviewVersion.WithKind("AdmissionReview"), &oldReview{})
	metav1.AddToGroupVersion(scheme, oldReviewVersion)
	return nil
}

// verified is the answer, if it is one to the question.
func (r *review) verified(mutating bool) (*admissionreviewv1.AdmissionResponse, error) {
	switch given := r.response.(type) {
	case *oldReview:
		if given.Response == nil {
			return nil, errors.New("webhook response was absent")
		}
		answer := *given.Response
		if answer.PatchType = nil; mutating && len(answer.Patch) > 0 {
			json := admissionreviewv1.PatchTypeJSONPatch
			answer.PatchType = &json
		}
		return &answer, nil
	case *admissionreviewv1.AdmissionReview:
		answer, want := given.Response, admissionreviewv1.SchemeGroupVersion.WithKind("AdmissionReview")
		if answer == nil {
			return nil, errors.New("webhook response was absent")
		}
		if answer.UID != r.uid {
			return nil, fmt.Errorf("expected response.uid=%q, got %q", r.uid, answer.UID)
		}
		if given.GroupVersionKind() != want {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want, given.GroupVersionKind())
		}
		return answer, checkPatch(answer, mutating)
	}
	return nil, fmt.Errorf("unexpected response type %T", r.response)
}

func checkPatch(answer *admissionreviewv1.AdmissionResponse, mutating bool) error {
	patch, typed := len(answer.Patch) > 0, answer.PatchType != nil
	switch {
	case !mutating && patch:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && typed:
		return errors.New("validating webhook may not return response.patchType")
	case patch && !typed:
		return errors.New("webhook returned response.patch but not response.patchType")
	case typed && !patch:
		return errors.New("webhook returned response.patchType but not response.patch")
	case typed && *answer.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *answer.PatchType)
	}
	return nil
}

// hosts are the webhooks in this process, by the host of the URL by which they are called. Safe for concurrent use.
type hosts struct {
	mu       sync.Mutex
	handlers map[string]*host
	count    int // of those that have got a name
}

type host struct {
	transport
	ended context.CancelFunc
}

// HandleWebhooks has a handler asked where webhook configurations and conversions name a host, such as webhooks.in-memory or
// NAME.NAMESPACE.svc for a Service, perhaps with a port: in this process, without a socket, whatever the caBundle. It takes the place of another one
// at the host. A call of release ends what is asked, and from then on the host is where the network says.
func (s *Server) HandleWebhooks(name string, handler http.Handler) (release func()) {
	h := &host{}
	h.begin, h.requests = waits(recovering{handler}), &s.requests
	h.ctx, h.ended = context.WithCancel(s.ctx)
	s.hosts.mu.Lock()
	defer s.hosts.mu.Unlock()
	if s.hosts.handlers == nil {
		s.hosts.handlers = map[string]*host{}
	}
	s.hosts.handlers[name] = h
	return func() {
		h.ended()
		s.hosts.mu.Lock()
		defer s.hosts.mu.Unlock()
		if s.hosts.handlers[name] == h {
			delete(s.hosts.handlers, name)
		}
	}
}

// handleWebhooks is HandleWebhooks at a host that nobody else has.
func (s *Server) handleWebhooks(handler http.Handler) (url string, release func()) {
	s.hosts.mu.Lock()
	s.hosts.count++
	name := fmt.Sprintf("webhooks-%d.in-memory", s.hosts.count)
	s.hosts.mu.Unlock()
	return "https://" + name, s.HandleWebhooks(name, handler)
}

// recovering breaks the connection when a handler panics, as net/http does.
type recovering struct{ http.Handler }

func (r recovering) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	defer func() {
		if recover() != nil {
			w.(*response).fail(io.EOF)
		}
	}()
	r.Handler.ServeHTTP(w, request)
}

// at is the handler of a host, or nil.
func (h *hosts) at(name string) http.RoundTripper {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := h.handlers[name]
	if found == nil {
		bare, _, _ := strings.Cut(name, ":")
		found = h.handlers[bare]
	}
	if found == nil {
		return nil
	}
	return found
}

// newClients makes the clients of webhooks.
func (s *Server) newClients() *webhook.ClientManager {
	scheme := []func(*runtime.Scheme) error{admissionreviewv1.AddToScheme, addOldReview}
	clients, err := webhook.NewClientManager([]schema.GroupVersion{admissionreviewv1.SchemeGroupVersion, oldReviewVersion}, scheme...)
	must(err)
	s.connect(&clients)
	return &clients
}

// connect has clients of webhooks find those in this process.
func (s *Server) connect(clients *webhook.ClientManager) {
	authentication, err := webhook.NewDefaultAuthenticationInfoResolver("")
	must(err)
	clients.SetAuthenticationInfoResolver(&webhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: func(host string) (*rest.Config, error) {
			return s.connected(authentication.ClientConfigFor(host))
		},
		ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
			return s.connected(authentication.ClientConfigForService(name, namespace, port))
		},
	})
	clients.SetServiceResolver(webhook.NewDefaultServiceResolver())
}

func (s *Server) connected(config *rest.Config, err error) (*rest.Config, error) {
	if err == nil {
		config.Wrap(func(network http.RoundTripper) http.RoundTripper { return &router{&s.hosts, network} })
	}
	return config, err
}

// router sends requests to webhooks in this process, or into the network.
type router struct {
	hosts   *hosts
	network http.RoundTripper
}

func (r *router) RoundTrip(request *http.Request) (*http.Response, error) {
	if here := r.hosts.at(request.URL.Host); here != nil {
		return here.RoundTrip(request)
	}
	return r.network.RoundTrip(request)
}
