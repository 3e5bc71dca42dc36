package controllerutil_test

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
)

// testApplyAtRandom applies random configurations as two owners. After each apply, the object must equal the result of
// a plain Apply. Applying the same configuration again must not write.
func testApplyAtRandom(c counting) {
	ctx, random := c.Context(), rand.New(rand.NewPCG(1, 2))
	unchanged := 0
	for n := range 150 {
		owner := client.FieldOwner(fmt.Sprint("owner-", random.IntN(2)))
		wanted := randomDeployment(random, c.namespace)
		got := wanted.DeepCopy()
		result, err := controllerutil.ApplyIfDifferent(ctx, c, got, owner, client.ForceOwnership)
		if err != nil {
			c.Fatal(err)
		}
		if result == controllerutil.OperationResultNone {
			unchanged++
		}
		plain := wanted.DeepCopy()
		if err := c.Client.Apply(ctx, plain, owner, client.ForceOwnership); err != nil {
			c.Fatal(err)
		}
		if plain.ResourceVersion != got.ResourceVersion {
			c.Fatalf("%d: the result was %s, but a plain Apply changes more: from %v to %v", n, result, got.Spec, plain.Spec)
		}
		*c.writes = 0
		result, err = controllerutil.ApplyIfDifferent(ctx, c, wanted.DeepCopy(), owner, client.ForceOwnership)
		c.was("again", result, err, controllerutil.OperationResultNone)
		c.wrote("again", 0)
	}
	c.Logf("%d of 150 were as they should be", unchanged)
}

// randomDeployment returns a Deployment with few fields, so that two of them differ only in some fields.
func randomDeployment(random *rand.Rand, namespace string) *appsv1.Deployment {
	name := func() string { return string(rune('a' + random.IntN(2))) }
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "d"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	d.Spec.Template.Labels = map[string]string{"app": "x"}
	main := corev1.Container{Name: "main", Image: name(), Ports: []corev1.ContainerPort{{ContainerPort: 80}}}
	if random.IntN(3) == 0 {
		main.Ports[0].Protocol = corev1.ProtocolTCP
	}
	if random.IntN(3) == 0 {
		main.Ports = append(main.Ports, corev1.ContainerPort{ContainerPort: 80, Protocol: corev1.ProtocolUDP})
		main.Ports[0].Protocol = corev1.ProtocolTCP
	}
	if random.IntN(2) == 0 {
		main.Env = []corev1.EnvVar{{Name: "A", Value: name()}}
	}
	if random.IntN(3) == 0 {
		main.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
	if random.IntN(3) == 0 {
		main.Args = []string{name(), name()}
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{main}
	if random.IntN(2) == 0 {
		d.Spec.Replicas = new(int32(random.IntN(2)))
	}
	if random.IntN(3) == 0 {
		d.Labels = map[string]string{name(): name()}
	}
	if random.IntN(3) == 0 {
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: name(),
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	return d
}
