package unstabledesired

import (
	"context"
	"fmt"
	"math/rand"
	"sort"
	"time"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	kutil "github.com/kctrl-dev/kctrl/runtime/controllerutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func appliedTime(ctx context.Context, c kclient.Client) error {
	desired := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:        "a",
		Annotations: map[string]string{"at": time.Now().Format(time.RFC3339)}, // want `unstabledesired: the time is in Annotations of the desired object`
	}}
	return c.Apply(ctx, desired)
}

func appliedRandom(ctx context.Context, c kclient.Client) error {
	desired := &corev1.ConfigMap{}
	desired.Data = map[string]string{"id": fmt.Sprint(rand.Int())} // want `a random value is in Data`
	_, err := kutil.ApplyIfDifferent(ctx, c, desired)
	return err
}

func mutated(ctx context.Context, c client.Client) error {
	deployment := &appsv1.Deployment{}
	_, err := controllerutil.CreateOrUpdate(ctx, c, deployment, func() error {
		deployment.Spec.Template.Annotations = map[string]string{"at": time.Now().String()} // want `the time is in Annotations of the desired object`
		return nil
	})
	return err
}

func mapOrder(values map[string]string) *corev1.Pod {
	var env []corev1.EnvVar
	for name, value := range values {
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main",
		Env:  env, // want `env is in the order of the map of line 45`
	}}}}
}

func mapOrderAssigned(values map[string]string, container *corev1.Container) {
	args := []string{"serve"}
	for name := range values {
		args = append(args, name)
	}
	container.Args = args // want `args is in the order of the map`
}

func sortedOrder(values map[string]string, container *corev1.Container) {
	var args []string
	for name := range values {
		args = append(args, name)
	}
	sort.Strings(args)
	container.Args = args
}

func sortedField(values map[string]string, container *corev1.Container) {
	var args []string
	for name := range values {
		args = append(args, name)
	}
	container.Args = args
	sort.Strings(container.Args)
}

func createdOnce(ctx context.Context, c client.Client) error {
	return c.Create(ctx, &corev1.Secret{Data: map[string][]byte{"password": []byte(fmt.Sprint(rand.Int()))}})
}

func onlyOnce(ctx context.Context, c client.Client) error {
	secret := &corev1.Secret{}
	_, err := controllerutil.CreateOrUpdate(ctx, c, secret, func() error {
		if secret.Data == nil {
			secret.Data = map[string][]byte{"password": []byte(fmt.Sprint(rand.Int()))}
		}
		return nil
	})
	return err
}

func notInSpec(ctx context.Context, c kclient.Client) error {
	start := time.Now()
	desired := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	err := c.Apply(ctx, desired)
	fmt.Println(time.Since(start))
	return err
}
