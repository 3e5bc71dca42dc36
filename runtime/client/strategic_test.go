package client_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/client"
)

func strategicBase() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", ResourceVersion: "7",
			Labels: map[string]string{"a": "1", "b": "2"}, Finalizers: []string{"x.io/a", "x.io/b", "x.io/c"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{
					{Name: "a", Image: "1", Env: []corev1.EnvVar{{Name: "X", Value: "1"}, {Name: "Y", Value: "2"}}},
					{Name: "b", Image: "1", Args: []string{"x", "y"}},
				},
				Volumes: []corev1.Volume{{Name: "v",
					VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Tolerations: []corev1.Toleration{{Key: "k"}},
			}},
		},
	}
}

func TestStrategicMergePatchNamesOnlyWhatDiffers(t *testing.T) {
	type d = *appsv1.Deployment
	const pod = `{"spec":{"template":{"spec":%s}}}`
	order := `"$setElementOrder/containers":[{"name":"a"},{"name":"b"}]`
	for name, test := range map[string]struct {
		change func(d)
		want   string
	}{
		"nothing":         {func(d) {}, `{}`},
		"a field":         {func(o d) { o.Spec.Replicas = new(int32(2)) }, `{"spec":{"replicas":2}}`},
		"a field removed": {func(o d) { o.Spec.Replicas = nil }, `{"spec":{"replicas":null}}`},
		"a label": {func(o d) { o.Labels["a"] = "3"; delete(o.Labels, "b") },
			`{"metadata":{"labels":{"a":"3","b":null}}}`},
		"an item of a list": {func(o d) { o.Spec.Template.Spec.Containers[1].Image = "2" },
			fmt.Sprintf(pod, `{"containers":[{"name":"b","image":"2"}],`+order+`}`)},
		"an item removed": {func(o d) { o.Spec.Template.Spec.Containers = o.Spec.Template.Spec.Containers[:1] },
			fmt.Sprintf(pod, `{"containers":[{"name":"b","$patch":"delete"}],"$setElementOrder/containers":[{"name":"a"}]}`)},
		"a list without a key": {func(o d) { o.Spec.Template.Spec.Tolerations[0].Key = "l" },
			fmt.Sprintf(pod, `{"tolerations":[{"key":"l"}]}`)},
		"values": {func(o d) { o.Finalizers = []string{"x.io/d", "x.io/a"} },
			`{"metadata":{"finalizers":["x.io/d"],"$deleteFromPrimitiveList/finalizers":["x.io/b","x.io/c"],"$setElementOrder/finalizers":["x.io/d","x.io/a"]}}`},
		"a union": {func(o d) { o.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType} },
			`{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate","rollingUpdate":null}}}`},
		"a union emptied": {func(o d) { o.Spec.Strategy = appsv1.DeploymentStrategy{} },
			`{"spec":{"strategy":{"$retainKeys":[],"type":null,"rollingUpdate":null}}}`},
		"an item twice": {func(o d) { o.Spec.Template.Spec.Containers[1].Name = "a" },
			fmt.Sprintf(pod,
				`{"containers":[{"$patch":"replace"},{"name":"a","image":"1","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}],"resources":{}},{"name":"a","image":"1","args":["x","y"],"resources":{}}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			base, modified := strategicBase(), strategicBase()
			test.change(modified)
			data, err := client.StrategicMergeFrom(base).Data(modified)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, string(data), test.want)
			sameAfter(t, data, base, modified)
			locked, err := client.StrategicMergeFromWithOptimisticLock(base).Data(modified)
			if err != nil || !strings.Contains(string(locked), `"resourceVersion":"7"`) {
				t.Errorf("with lock: got %s, %v", locked, err)
			}
		})
	}
}

// sameAfter fails unless the API server's own library, applied to base and patch, returns modified.
func sameAfter(t *testing.T, patch []byte, base, modified *appsv1.Deployment) {
	t.Helper()
	before, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, &appsv1.Deployment{})
	if err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	var got appsv1.Deployment
	if err := json.Unmarshal(after, &got); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(&got, modified) {
		t.Errorf("patch %s\nmakes %s\nand not %s", patch, after, toJSON(modified))
	}
}

// TestStrategicMergePatchMakesWhatItWasMadeFrom checks that the patch of a random change results in the changed object.
func TestStrategicMergePatchMakesWhatItWasMadeFrom(t *testing.T) {
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		for range 150 {
			base := strategicBase()
			for range random.IntN(6) {
				disturb(random, base)
			}
			modified := base.DeepCopy()
			for range random.IntN(6) {
				disturb(random, modified)
			}
			data, err := client.StrategicMergeFrom(base).Data(modified)
			if err != nil {
				t.Fatal(err)
			}
			if sameAfter(t, data, base, modified); t.Failed() {
				return
			}
		}
	})
}

// disturb makes one random change.
func disturb(random *rand.Rand, o *appsv1.Deployment) {
	spec := &o.Spec.Template.Spec
	name := func() string { return string(rune('a' + random.IntN(5))) }
	change(random, &spec.Containers, func(c *corev1.Container) {
		c.Image = name()
		change(random, &c.Env, func(e *corev1.EnvVar) { e.Value = name() }, func() corev1.EnvVar {
			return corev1.EnvVar{Name: unused(c.Env, func(e corev1.EnvVar) string { return e.Name })}
		})
		change(random, &c.VolumeMounts, func(m *corev1.VolumeMount) { m.Name = name() }, func() corev1.VolumeMount {
			return corev1.VolumeMount{MountPath: unused(c.VolumeMounts,
				func(m corev1.VolumeMount) string { return m.MountPath })}
		})
		change(random, &c.Args, func(*string) {}, name)
	}, func() corev1.Container {
		return corev1.Container{Name: unused(spec.Containers, func(c corev1.Container) string { return c.Name })}
	})
	change(random, &spec.Volumes, func(v *corev1.Volume) {
		v.VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: name()}}
	}, func() corev1.Volume {
		return corev1.Volume{Name: unused(spec.Volumes, func(v corev1.Volume) string { return v.Name }),
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	})
	change(random, &o.Finalizers, func(*string) {}, func() string {
		return unused(o.Finalizers,
			func(f string) string { return f })
	})
	switch random.IntN(4) {
	case 0:
		o.Labels = map[string]string{name(): name()}
	case 1:
		spec.NodeSelector = map[string]string{name(): name()}
	case 2:
		spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(random.Int64N(3))}
	case 3:
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: name()})
	}
}

// change changes, adds or removes one item of a list, shuffles the list, or does nothing.
func change[T any](random *rand.Rand, list *[]T, item func(*T), another func() T) {
	n := len(*list)
	switch what := random.IntN(6); {
	case what == 0:
		*list = append(*list, another())
	case n == 0:
	case what == 1:
		at := random.IntN(n)
		*list = append((*list)[:at:at], (*list)[at+1:]...)
	case what == 2:
		random.Shuffle(n, func(i, j int) { (*list)[i], (*list)[j] = (*list)[j], (*list)[i] })
	case what == 3:
		item(&(*list)[random.IntN(n)])
	}
}

// unused returns a name that no item has.
func unused[T any](items []T, name func(T) string) string {
	for candidate := 'a'; ; candidate++ {
		taken := false
		for _, item := range items {
			taken = taken || name(item) == "x/"+string(candidate)
		}
		if !taken {
			return "x/" + string(candidate)
		}
	}
}

func TestStrategicMergePatchReplacesWhatItDoesNotKnow(t *testing.T) {
	revision := func(data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(data)}}
	}
	data, err := client.StrategicMergeFrom(revision(`{"a":{"b":1,"c":2}}`)).Data(revision(`{"a":{"b":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, string(data), `{"data":{"$patch":"replace","a":{"b":2}}}`)
	if _, err := client.StrategicMergeFrom(untyped("v1", "Pod", "a", "a")).Data(untyped("v1", "Pod", "a",
		"a")); err == nil {
		t.Error("an untyped object, and no error")
	}
}
