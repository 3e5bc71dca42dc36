package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
)

var podKind = builtin.CoreV1.WithKind("Pod")

// podParts returns the subresources of pods other than the status.
func podParts() []extraPart {
	return []extraPart{
		{name: "attach", kind: builtin.CoreV1.WithKind("PodAttachOptions"), verbs: []string{"create", "get"},
			part: streamPart},
		{name: "binding", kind: builtin.CoreV1.WithKind("Binding"), verbs: []string{"create"}, part: bindingPart},
		partOf(podKind, "ephemeralcontainers", builtin.EphemeralRules()),
		{name: "eviction", kind: evictionKind, verbs: []string{"create"}, part: evictionPart},
		{name: "exec", kind: builtin.CoreV1.WithKind("PodExecOptions"), verbs: []string{"create", "get"}, part: streamPart},
		{name: "log", kind: podKind, verbs: []string{"get"}, part: logPart},
		{name: "portforward", kind: builtin.CoreV1.WithKind("PodPortForwardOptions"), verbs: []string{"create", "get"},
			part: streamPart},
		{name: "proxy", kind: builtin.CoreV1.WithKind("PodProxyOptions"), verbs: proxyVerbs, part: streamPart},
		partOf(podKind, "resize", builtin.ResizeRules()),
	}
}

// streamPart returns a subresource whose requests a kubelet would serve.
func streamPart(s *Server, objects *registry, k *kind, _ family) part {
	return part{serve: func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
		object, err := objects.Get(request.WithNamespace(r.Context(), info.Namespace), info.Name, &metav1.GetOptions{})
		if err == nil {
			err = apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", info.Name))
			if node := object.(*corev1.Pod).Spec.NodeName; node != "" {
				err = apierrors.NewNotFound(builtin.CoreV1.WithResource("nodes").GroupResource(), node)
			}
		}
		responsewriters.ErrorNegotiated(err, metaCodecs, builtin.CoreV1, w, r)
	}}
}

// logPart returns the subresource for logs. They are empty, because no containers run.
func logPart(s *Server, objects *registry, k *kind, _ family) part {
	return part{serve: func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
		object, err := objects.Get(request.WithNamespace(r.Context(), info.Namespace), info.Name, &metav1.GetOptions{})
		if err == nil {
			err = containerProblem(object.(*corev1.Pod), r.URL.Query().Get("container"))
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, metaCodecs, builtin.CoreV1, w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
	}}
}

func containerProblem(pod *corev1.Pod, name string) error {
	var names []string
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, container.Name)
	}
	for _, container := range pod.Spec.EphemeralContainers {
		names = append(names, container.Name)
	}
	switch {
	case name == "" && len(pod.Spec.Containers) != 1:
		return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s",
			pod.Name, names))
	case name != "" && !slices.Contains(names, name):
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return nil
}

// creater creates objects that are not stored.
type creater struct {
	new    func() runtime.Object
	create func(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc,
		options *metav1.CreateOptions) (runtime.Object, error)
}

func (c creater) New() runtime.Object { return c.new() }
func (c creater) Destroy()            {}
func (c creater) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	return c.create(ctx, name, object, validate, options)
}

// bindings returns the kind of bindings that have their own path. This path is older than the subresource of pods.
func bindings() kind {
	return kind{
		Kind: builtin.Kind{GVK: builtin.CoreV1.WithKind("Binding"), Resource: "bindings", Namespaced: true,
			Verbs: []string{"create"}},
		complete: func(s *Server, r *registry, e *endpoint) {
			e.review = &answerer{r, func(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
				options *metav1.CreateOptions) (runtime.Object, error) {
				pods := s.endpointOf(builtin.CoreV1.WithResource("pods")).registry
				return pods.createBinding(ctx, object.(*corev1.Binding), validate, options)
			}}
		},
	}
}

func bindingPart(_ *Server, objects *registry, k *kind, f family) part {
	bind := func(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc,
		options *metav1.CreateOptions) (runtime.Object, error) {
		binding := object.(*corev1.Binding)
		if binding.Name != name {
			return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
		}
		return objects.createBinding(ctx, binding, validate, options)
	}
	kind := builtin.CoreV1.WithKind("Binding")
	return part{creater: creater{func() runtime.Object { return &corev1.Binding{} }, bind},
		scope: newScopeOf(k, f, kind, builtin.CoreV1, "binding", nil, objects)}
}

// createBinding is called on the registry of pods.
func (r *registry) createBinding(ctx context.Context, binding *corev1.Binding, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	target := core.ObjectReference{Kind: binding.Target.Kind, Name: binding.Target.Name}
	if err := validation.ValidatePodBinding(&core.Binding{Target: target}).ToAggregate(); err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, binding.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, r.bind(ctx, binding, options)
}

// bind sets the node of a pod.
func (r *registry) bind(ctx context.Context, binding *corev1.Binding, options *metav1.CreateOptions) error {
	key, err := r.key(ctx, binding.Name)
	if err != nil {
		return err
	}
	var preconditions storage.Preconditions
	if binding.UID != "" {
		preconditions.UID = &binding.UID
	}
	if binding.ResourceVersion != "" {
		preconditions.ResourceVersion = &binding.ResourceVersion
	}
	_, err = r.guarded(ctx, key, false, preconditions, dryrun.IsDryRun(options.DryRun),
		func(existing runtime.Object) (runtime.Object, error) {
			pod := existing.(*corev1.Pod)
			switch {
			case pod.DeletionTimestamp != nil:
				return nil, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
			case pod.Spec.NodeName != "":
				return nil, fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
			case len(pod.Spec.SchedulingGates) > 0:
				return nil, fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
			}
			pod.Spec.NodeName = binding.Target.Name
			for name, value := range binding.Annotations {
				metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, value)
			}
			for name, value := range binding.Labels {
				metav1.SetMetaDataLabel(&pod.ObjectMeta, name, value)
			}
			podutil.UpdatePodCondition(&pod.Status, &corev1.PodCondition{Type: corev1.PodScheduled,
				Status: corev1.ConditionTrue})
			return pod, nil
		})
	err = storageerrors.InterpretUpdateError(err, r.resource, binding.Name)
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok || err == nil {
		return err
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, binding.Name, err)
}
