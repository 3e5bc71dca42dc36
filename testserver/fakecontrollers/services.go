package fakecontrollers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// services maintains the EndpointSlices of a Service, and assigns an address to a LoadBalancer.
var services = Controller{"service-controller", func(m *manager.Manager) error {
	p := &serviceController{Client: m.Client()}
	slices, err := newOwned(m, &discoveryv1.EndpointSlice{})
	if err != nil {
		return err
	}
	p.slices = slices
	if p.addresses, err = newAddresses(m, loadBalancers, &corev1.Service{}, balancedAt); err != nil {
		return err
	}
	return controller.For[*corev1.Service](m).Named("service-controller").
		Owns(&discoveryv1.EndpointSlice{}).
		Watches(handler.For(p.selecting)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}). // so that each address is allocated only once
		Complete(byName[corev1.Service](m.Client(), p.reconcile))
}}

type serviceController struct {
	client.Client
	slices    *owned[*discoveryv1.EndpointSlice]
	addresses *addresses[*corev1.Service] // of load balancers
}

func balancedAt(service *corev1.Service) (addresses []string) {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		addresses = append(addresses, ingress.IP)
	}
	return addresses
}

// selecting returns requests for the Services that select a pod.
func (p *serviceController) selecting(ctx context.Context, pod *corev1.Pod) (requests []reconcile.Request) {
	var all corev1.ServiceList
	if err := p.List(ctx, &all, client.InNamespace(pod.Namespace)); err != nil {
		return nil
	}
	for i := range all.Items {
		if s := &all.Items[i]; len(s.Spec.Selector) > 0 &&
			labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			requests = append(requests, requestFor(s))
		}
	}
	return requests
}

func (p *serviceController) reconcile(ctx context.Context, service *corev1.Service) (reconcile.Result, error) {
	if service.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if err := p.balance(ctx, service); err != nil {
		return reconcile.Result{}, err
	}
	if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
		return reconcile.Result{}, nil
	}
	var pods corev1.PodList
	if err := p.List(ctx, &pods, client.InNamespace(service.Namespace),
		client.MatchingLabels(service.Spec.Selector)); err != nil {
		return reconcile.Result{}, err
	}
	has, err := p.slices.by(ctx, service.Namespace, service.UID)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, unlessTerminating(p.sync(ctx, service, slicesFor(service, pods.Items), has))
}

// loadBalancers is an address range that is reserved for benchmarks, so no host uses it.
var loadBalancers = netip.MustParsePrefix("198.18.0.0/15")

// balance assigns an address to a Service of type LoadBalancer, and removes the address if the type has changed.
func (p *serviceController) balance(ctx context.Context, service *corev1.Service) error {
	before := service.DeepCopy()
	switch is, has := service.Spec.Type == corev1.ServiceTypeLoadBalancer, len(service.Status.LoadBalancer.Ingress) > 0; {
	case is == has, is && service.Spec.LoadBalancerClass != nil: // another controller handles it
		return nil
	case !is:
		service.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	default:
		address, err := p.addresses.next(ctx)
		if err != nil {
			return err
		}
		mode := corev1.LoadBalancerIPModeVIP
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address, IPMode: &mode}}
	}
	return writeStatus(ctx, p.Client, before, service)
}

// most is the maximum number of endpoints in a slice.
const most = 100

// slicesFor returns the slices that a Service should have, without names. Pods whose named ports have different numbers
// are in different slices.
func slicesFor(service *corev1.Service, pods []corev1.Pod) (all []*discoveryv1.EndpointSlice) {
	byPorts := map[string]*discoveryv1.EndpointSlice{}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		pod := &pods[i]
		if pod.Status.PodIP == "" || podutil.IsPodTerminal(pod) {
			continue
		}
		ports := portsOf(service, pod)
		key := fmt.Sprint(len(ports))
		for _, port := range ports {
			key += fmt.Sprintf(" %s=%d", *port.Name, *port.Port)
		}
		slice := byPorts[key]
		if slice == nil || len(slice.Endpoints) == most {
			slice = newSlice(service, ports)
			byPorts[key] = slice
			all = append(all, slice)
		}
		slice.Endpoints = append(slice.Endpoints, endpointOf(service, pod))
	}
	if len(all) == 0 {
		return []*discoveryv1.EndpointSlice{newSlice(service, nil)}
	}
	return all
}

func newSlice(service *corev1.Service, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, GenerateName: service.Name + "-",
			Labels: maps.Clone(service.Labels)},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: ports, Endpoints: []discoveryv1.Endpoint{},
	}
	metav1.SetMetaDataLabel(&slice.ObjectMeta, discoveryv1.LabelServiceName, service.Name)
	metav1.SetMetaDataLabel(&slice.ObjectMeta, discoveryv1.LabelManagedBy, "endpointslice-controller.k8s.io")
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		metav1.SetMetaDataLabel(&slice.ObjectMeta, corev1.IsHeadlessService, "")
	}
	return slice
}

// noteChange sets the annotation with the time at which an endpoint started to serve, if this is the reason why the
// slice is created or changed.
func noteChange(slice, was *discoveryv1.EndpointSlice) {
	serves := func(e discoveryv1.Endpoint) bool { return valueOr(e.Conditions.Serving, false) }
	isNew := func(e discoveryv1.Endpoint) bool {
		return serves(e) && !slices.ContainsFunc(was.Endpoints,
			func(old discoveryv1.Endpoint) bool { return serves(old) && old.Addresses[0] == e.Addresses[0] })
	}
	if was != nil && !slices.ContainsFunc(slice.Endpoints, isNew) {
		delete(slice.Annotations, corev1.EndpointsLastChangeTriggerTime)
		return
	}
	metav1.SetMetaDataAnnotation(&slice.ObjectMeta, corev1.EndpointsLastChangeTriggerTime,
		time.Now().UTC().Format(time.RFC3339Nano))
}

// portsOf returns the ports of a pod to which a Service forwards. It skips named ports that no container of the pod
// has.
func portsOf(service *corev1.Service, pod *corev1.Pod) (ports []discoveryv1.EndpointPort) {
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		number := port.TargetPort.IntVal
		if port.TargetPort.Type == intstr.String {
			if number = containerPort(pod, port.TargetPort.StrVal, port.Protocol); number == 0 {
				continue
			}
		}
		ports = append(ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &number, Protocol: &port.Protocol,
			AppProtocol: port.AppProtocol})
	}
	return ports
}

func containerPort(pod *corev1.Pod, name string, protocol corev1.Protocol) int32 {
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.Name == name && port.Protocol == protocol {
				return port.ContainerPort
			}
		}
	}
	return 0
}

func endpointOf(service *corev1.Service, pod *corev1.Pod) discoveryv1.Endpoint {
	serving, terminating := podutil.IsPodReady(pod), pod.DeletionTimestamp != nil
	ready := service.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Addresses:  []string{pod.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		NodeName:   &pod.Spec.NodeName,
	}
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == service.Name {
		e.Hostname = &pod.Spec.Hostname
	}
	return e
}

// sync updates the existing slices of a Service to the wanted slices.
func (p *serviceController) sync(ctx context.Context, service *corev1.Service, want,
	has []*discoveryv1.EndpointSlice) error {
	for i, slice := range want {
		if i >= len(has) {
			noteChange(slice, nil)
			if err := createOwned(ctx, p.Client, service, slice); err != nil {
				return err
			}
			continue
		}
		now := has[i].DeepCopy()
		now.Labels, now.Endpoints, now.Ports = slice.Labels, slice.Endpoints, slice.Ports
		if equality.Semantic.DeepEqual(now, has[i]) {
			continue
		}
		noteChange(now, has[i])
		if err := p.Update(ctx, now); err != nil {
			return err
		}
	}
	return each(has[min(len(want), len(has)):], func(slice *discoveryv1.EndpointSlice) error {
		return controllerutil.DeleteWithUID(ctx, p.Client, slice)
	})
}
