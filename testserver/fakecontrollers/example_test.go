package fakecontrollers_test

import (
	"context"
	"fmt"
	"log/slog"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
)

// Example runs fake controllers in a program that is not a test.
func Example() {
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	m, err := fakecontrollers.New(server.Config(), fakecontrollers.Options{Controllers: fakecontrollers.All(),
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()
	defer func() { cancel(); fmt.Println("ended:", <-ended) }()

	labels, two := map[string]string{"app": "web"}, int32(2)
	live := m.Live()
	err = live.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
			}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream, err := live.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace("default"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		if d, ok := event.Object.(*appsv1.Deployment); ok && event.Type != watch.Bookmark &&
			d.Status.AvailableReplicas == two {
			fmt.Println(d.Name, "has", d.Status.AvailableReplicas, "pods that are available")
			return
		}
	}
	// Output:
	// web has 2 pods that are available
	// ended: <nil>
}
