package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionreviewv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// The limit for copies in JSON patches, from requests and from webhooks, is a variable of the library. Like the real
// server, this package sets it before any patch is applied, so that a few copies cannot exhaust the memory.
func init() { jsonpatch.AccumulatedCopySizeLimit = maxBody }

// webhooks calls the webhooks of webhook configurations.
type webhooks struct {
	server  *Server
	table   *store.Table
	hooksOf func(object runtime.Object) []builtin.Hook

	mu       sync.Mutex
	compiled map[*store.Record][]*compiledHook // of the stored configurations
}

func (*webhooks) Handles(admission.Operation) bool { return true }

// compiledHook is a webhook that can be called.
type compiledHook struct {
	builtin.Hook
	matching
	conditions func() matchconditions.Matcher // nil without conditions
}

func (s *Server) newWebhooks(k *builtin.Kind, hooksOf func(object runtime.Object) []builtin.Hook) *webhooks {
	return &webhooks{server: s, table: s.tableOf(*k), hooksOf: hooksOf}
}

// tableOf returns the table of a built-in kind.
func (s *Server) tableOf(k builtin.Kind) *store.Table {
	return s.store.Table(schema.GroupResource{Group: k.GVK.Group, Resource: k.Resource})
}

// all returns the webhooks, ordered by the names of their configurations.
func (ws *webhooks) all() []*compiledHook {
	records, _, err := ws.table.List("/", "", 0)
	must.Do(err)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var all [][]*compiledHook
	ws.compiled, all = kept(ws.compiled, records, func(r *store.Record) (of []*compiledHook) {
		for _, h := range ws.hooksOf(r.Object) {
			of = append(of, newHook(h))
		}
		return of
	})
	return slices.Concat(all...)
}

func newHook(h builtin.Hook) *compiledHook {
	named := make([]admissionv1.NamedRuleWithOperations, len(h.Rules))
	for i := range h.Rules {
		named[i].RuleWithOperations = h.Rules[i]
	}
	c := &compiledHook{Hook: h, matching: newMatching(h.NamespaceSelector, h.ObjectSelector, h.MatchPolicy, named)}
	c.conditions = sync.OnceValue(func() matchconditions.Matcher {
		compiler := plugincel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
		return compileConditions(compiler, h.MatchConditions, h.FailurePolicy,
			plugincel.OptionalVariableDeclarations{HasAuthorizer: true}, "webhook", "", h.Name)
	})
	return c
}

// wanted reports whether a webhook must be called for an object, and with which kind and resource.
func (ws *webhooks) wanted(ctx context.Context, h *compiledHook, a admission.Attributes, o admission.ObjectInterfaces,
	versioned func(schema.GroupVersionKind) (*admission.VersionedAttributes, error)) (*subject, error) {
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

// ignored reports whether a failed call of the webhook is ignored.
func (h *compiledHook) ignored(err error) bool {
	_, failed := errors.AsType[*webhook.ErrCallingWebhook](err)
	return failed && builtin.Deref(h.FailurePolicy) == admissionv1.Ignore
}

// refusal returns the error for the client, given the error of a webhook.
func refusal(err error) error {
	if _, failed := errors.AsType[*webhook.ErrCallingWebhook](err); failed {
		return apierrors.NewInternalError(err)
	}
	if rejected, ok := errors.AsType[*webhook.ErrWebhookRejection](err); ok {
		return rejected.Status
	}
	return err
}

// ask calls a webhook for an object.
func (ws *webhooks) ask(ctx context.Context, uid types.UID, h *compiledHook, as *subject,
	a *admission.VersionedAttributes) (*admissionreviewv1.AdmissionResponse, error) {
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
		return nil, failed(errors.New("could not create admission objects: webhook does not accept known AdmissionReview "+
			"versions (v1, v1beta1)"), apierrors.NewBadRequest("error creating admission objects"))
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
	answer, err := r.verified(h.Mutating)
	if err != nil {
		return nil, failed(fmt.Errorf("received invalid webhook response: %w", err),
			apierrors.NewServiceUnavailable("error validating webhook response"))
	}
	if !answer.Allowed {
		return answer, &webhook.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(h.Name, answer.Result)}
	}
	return answer, nil
}

func clientConfig(name string, client admissionv1.WebhookClientConfig) webhook.ClientConfig {
	config := webhook.ClientConfig{Name: name, CABundle: client.CABundle, URL: builtin.Deref(client.URL)}
	if service := client.Service; service != nil {
		config.Service = &webhook.ClientConfigService{Name: service.Name, Namespace: service.Namespace,
			Port: cmp.Or(builtin.Deref(service.Port), 443), Path: builtin.Deref(service.Path)}
	}
	return config
}

// mutatingWebhooks calls webhooks in order. Each receives the changes of the previous ones.
type mutatingWebhooks struct{ *webhooks }

const mutatingName = "MutatingAdmissionWebhook"

// invocations is the state of the webhooks or policies that were called for one object.
type invocations[K comparable] struct {
	last  runtime.Object // the object after the last call
	asked sets.Set[K]    // called ones that request reinvocation
	again sets.Set[K]    // members of asked after whose call the object changed
}

// invocationsOf returns the state that is stored under the name of a plugin.
func invocationsOf[K comparable](again admission.ReinvocationContext, plugin string) *invocations[K] {
	known, ok := again.Value(plugin).(*invocations[K])
	if !ok {
		known = &invocations[K]{again: sets.New[K](), asked: sets.New[K]()}
		again.SetValue(plugin, known)
	}
	return known
}

// begin compares the object with its state after the last call.
func (i *invocations[K]) begin(a admission.Attributes) {
	if a.GetReinvocationContext().IsReinvoke() && !equality.Semantic.DeepEqual(i.last, a.GetObject()) {
		i.changed()
	}
}

// end records the object.
func (i *invocations[K]) end(a admission.Attributes) {
	if i.last = a.GetObject(); i.last != nil {
		i.last = i.last.DeepCopyObject()
	}
}

type hookKey struct {
	configuration string
	index         int
}

func (h *compiledHook) key() hookKey { return hookKey{h.Configuration, h.Index} }

// changed marks the called webhooks or policies for reinvocation.
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
	again := a.GetReinvocationContext()
	known := invocationsOf[hookKey](again, mutatingName)
	known.begin(a)
	defer known.end(a)
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
		if builtin.Deref(h.Reinvocation) == admissionv1.IfNeededReinvocationPolicy {
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

// change calls a webhook and applies its patch. It reports whether the patch has changed the object.
func (m *mutatingWebhooks) change(ctx context.Context, h *compiledHook, as *subject, a *admission.VersionedAttributes,
	o admission.ObjectInterfaces) (bool, error) {
	answer, err := m.ask(ctx, m.server.names.uid(), h, as, a)
	warn(ctx, answer)
	if err != nil || len(answer.Patch) == 0 {
		return false, err
	}
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	if err != nil {
		return false, &webhook.ErrCallingWebhook{
			WebhookName: h.Name, Reason: fmt.Errorf("received undecodable patch in webhook response: %w", err),
			Status: apierrors.NewServiceUnavailable("error decoding patch in webhook response"),
		}
	}
	object := a.VersionedObject.Object()
	switch {
	case len(patch) == 0:
		return false, nil
	case object == nil:
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is "+
			"not supported for this operation", h.Name))
	case builtin.Deref(answer.PatchType) != admissionreviewv1.PatchTypeJSONPatch:
		return false, &webhook.ErrCallingWebhook{WebhookName: h.Name, Reason: fmt.Errorf("unsupported patch type %q",
			builtin.Deref(answer.PatchType)), Status: webhookerrors.ToStatusErr(h.Name, answer.Result)}
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

func patchObject(object runtime.Object, patch jsonpatch.Patch, kind schema.GroupVersionKind,
	o admission.ObjectInterfaces) (runtime.Object, error) {
	codec := json.NewSerializerWithOptions(json.DefaultMetaFactory, o.GetObjectCreater(), o.GetObjectTyper(),
		json.SerializerOptions{})
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

// warn passes the warnings of a webhook to the client. The answer may be nil.
func warn(ctx context.Context, answer *admissionreviewv1.AdmissionResponse) {
	for _, text := range builtin.Deref(answer).Warnings {
		warning.AddWarning(ctx, "", text)
	}
}

// validatingWebhooks calls all webhooks concurrently.
type validatingWebhooks struct{ *webhooks }

func (v *validatingWebhooks) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if exempt(a) {
		return nil
	}
	known := newVersions(a, o)
	type question struct {
		hook *compiledHook
		as   *subject
	}
	var questions []question
	for _, h := range v.all() {
		as, err := v.wanted(ctx, h, a, o, known.of)
		if err != nil {
			return err
		}
		if as == nil {
			continue
		}
		if _, err := known.of(as.kind); err != nil {
			return apierrors.NewInternalError(err)
		}
		questions = append(questions, question{h, as})
	}
	if len(questions) > 0 && ctx.Err() != nil {
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	answers, errs := make([]*admissionreviewv1.AdmissionResponse, len(questions)), make([]error, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		attributes, uid := known.known[q.as.kind], v.server.names.uid() // in the order of the webhooks
		all.Go(func() { answers[i], errs[i] = v.ask(ctx, uid, q.hook, q.as, attributes) })
	}
	all.Wait()
	var first error
	for i, q := range questions {
		warn(ctx, answers[i])
		if err := errs[i]; err != nil && first == nil && !q.hook.ignored(err) {
			first = refusal(err)
		}
	}
	return first
}
