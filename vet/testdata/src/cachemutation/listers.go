package cachemutation

import (
	"sort"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

type controller struct {
	pods  listers.PodLister
	store cache.Indexer
}

func (c *controller) field(name string) error {
	pod, err := c.pods.Pods("default").Get(name)
	if err != nil {
		return err
	}
	pod.Spec.NodeName = "n1" // want `cachemutation: this changes Spec.NodeName of an object of the cache`
	return nil
}

func (c *controller) label(name string) {
	pod, _ := c.pods.Pods("default").Get(name)
	pod.Labels["a"] = "b" // want `this changes Labels of an object of the cache`
}

func (c *controller) setter(name string) {
	pod, _ := c.pods.Pods("default").Get(name)
	pod.SetLabels(nil) // want `SetLabels changes`
}

func (c *controller) loop() {
	pods, _ := c.pods.List(labels.Everything())
	for _, pod := range pods {
		pod.Status.Phase = "Failed" // want `this changes Status.Phase`
	}
}

func (c *controller) element(name string) {
	pod, _ := c.pods.Pods("default").Get(name)
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Image = "x" // want `this changes Spec.Containers.Image`
	}
}

func (c *controller) sorted(name string) {
	pod, _ := c.pods.Pods("default").Get(name)
	sort.Slice(pod.Spec.Containers, func(i, j int) bool { return i < j }) // want `Slice changes Spec.Containers`
}

func (c *controller) get(name string) (*corev1.Pod, error) {
	pod, err := c.pods.Pods("default").Get(name)
	if err != nil {
		return nil, err
	}
	return pod, nil
}

func (c *controller) wrapped(name string) {
	pod, _ := c.get(name)
	pod.Spec.NodeName = "n1" // want `this changes Spec.NodeName`
}

func setNode(pod *corev1.Pod) { pod.Spec.NodeName = "n1" }

func (c *controller) callee(name string) {
	pod, _ := c.get(name)
	setNode(pod) // want `setNode changes an object of the cache`
}

func (c *controller) fromStore(key string) {
	item, _, _ := c.store.GetByKey(key)
	pod := item.(*corev1.Pod)
	pod.Annotations["a"] = "b" // want `this changes Annotations`
}

func (c *controller) structCopy(name string) {
	pod, _ := c.get(name)
	copied := *pod
	copied.Spec.NodeName = "n1"
	copied.Labels["a"] = "b" // want `this changes Labels`
}

func handlers() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj interface{}) {
			if pod, ok := obj.(*corev1.Pod); ok {
				pod.Spec.NodeName = "n1" // want `this changes Spec.NodeName`
			}
		},
	}
}

func (c *controller) copied(name string) {
	pod, _ := c.pods.Pods("default").Get(name)
	pod = pod.DeepCopy()
	pod.Spec.NodeName = "n1"
}

func (c *controller) maybeCopied(name string, change bool) {
	pod, _ := c.pods.Pods("default").Get(name)
	if change {
		pod = pod.DeepCopy()
	}
	pod.Spec.NodeName = "n1" // not certain
}

func (c *controller) ownSlice() {
	pods, _ := c.pods.List(labels.Everything())
	sort.Slice(pods, func(i, j int) bool { return pods[i].Name < pods[j].Name })
	pods[0] = nil
}

func (c *controller) fresh(name string) *corev1.Pod {
	cached, _ := c.get(name)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: cached.Name, Labels: map[string]string{"a": "b"}}}
}
