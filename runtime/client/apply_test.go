package client_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// serverMetadata returns metadata in which the fields that a server writes are set.
func serverMetadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.Unix(1, 0),
		Labels:        map[string]string{"empty": ""},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "other"}},
	}
}

// deployment returns a Deployment that was read from a server and then changed.
func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: serverMetadata("web"),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name:         "c",
					Ports:        []corev1.ContainerPort{{ContainerPort: 80}},
					VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
					LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(0)},
					}},
				}},
				Volumes: []corev1.Volume{{Name: "tmp",
					VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				AutomountServiceAccountToken: new(false),
			}},
		},
		Status: appsv1.DeploymentStatus{Replicas: 3},
	}
}

func TestApplyOfATypedObjectSendsOnlyWhatItSets(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	const what = "PATCH /apis/apps/v1/namespaces/default/deployments/web"
	s.respond(what, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","resourceVersion":"8"}}`)
	d := deployment()
	if err := c.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	got := s.last(t)
	if got.what != what+"?fieldManager=me" || got.header.Get("Content-Type") != "application/apply-patch+yaml" {
		t.Errorf("got %s %s", got.what, got.header)
	}
	// Values behind pointers are sent even if they are zero: replicas, selector, emptyDir. The fields strategy, resources
	// and the template's metadata are zero structs, so they are omitted. A numeric port of 0 and an empty label are sent.
	sameJSON(t, got.body, `{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"namespace":"default","name":"web","uid":"u","labels":{"empty":""}},
		"spec":{"replicas":0,"selector":{},"template":{"spec":{"automountServiceAccountToken":false,
			"containers":[{"name":"c","ports":[{"containerPort":80}],"volumeMounts":[{"name":"tmp","mountPath":"/tmp"}],
				"livenessProbe":{"httpGet":{"port":0}}}],
			"volumes":[{"name":"tmp","emptyDir":{}}]}}}}`)
	if d.ResourceVersion != "8" || d.Spec.Replicas != nil {
		t.Errorf("the object is not what the server answered: %v", d)
	}
}

func TestApplyKeepsValuesThatEncodeThemselves(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	s.respond("PATCH /api/v1/namespaces/default/pods/p", `{"kind":"Pod","apiVersion":"v1"}`)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{
		Overhead: corev1.ResourceList{"cpu": resource.MustParse("0")},
		Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")},
		}}},
	}}
	if err := c.Apply(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, s.last(t).body, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"p"},
		"spec":{"overhead":{"cpu":"0"},"containers":[{"name":"c","resources":{"limits":{"memory":"1Gi"}}}]}}`)
}

// part and gadget form a kind as users write them: fields without tags, empty structs at several depths, nulls.
type part struct {
	Options struct {
		Fast bool `json:"fast,omitempty"`
	} `json:"options,omitempty"`
	Size int `json:"size"`
}

type embedded struct {
	Inner part `json:"inner,omitempty"`
}

type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	*embedded         `json:",inline"`
	Parts             map[string]part
	List              []part `json:"list"`
	Plain             struct {
		Options struct{} `json:"options,omitempty"`
	}
	Kept struct{}             `json:"kept"`
	Raw  runtime.RawExtension `json:"raw,omitempty"`
	Any  any                  `json:"any"`
}

func (g *gadget) DeepCopyObject() runtime.Object { clone := *g; return &clone }

var gadgets = schema.GroupVersion{Group: "example.com", Version: "v1"}

// serveGadgets adds the kind Gadget to s and to the client's scheme.
func serveGadgets(t *testing.T, s *server) client.Options {
	t.Helper()
	s.respond("GET /apis/example.com/v1", resources("example.com/v1", "Gadget/gadgets/gadget"))
	scheme := newScheme(t)
	scheme.AddKnownTypeWithName(gadgets.WithKind("Gadget"), &gadget{})
	return client.Options{Scheme: scheme, FieldOwner: "me"}
}

func TestApplyDropsEmptyStructsAtAnyDepth(t *testing.T) {
	s := newServer()
	c := connect(t, s, serveGadgets(t, s))
	s.respond("PATCH /apis/example.com/v1/namespaces/default/gadgets/g", `{"kind":"Gadget","apiVersion":"example.com/v1"}`)
	g := &gadget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"},
		embedded:   &embedded{},
		Parts:      map[string]part{"a": {}},
		List:       []part{{Size: 1}, {}},
		Raw:        runtime.RawExtension{Raw: []byte(`{"config":{}}`)},
		Any:        map[string]any{"deep": []any{nil, map[string]any{"gone": nil}}},
	}
	if err := c.Apply(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	// A null in a list holds a position, so it is sent. The empty objects in raw were set by the user. Kept and Plain have
	// no omitempty.
	sameJSON(t, s.last(t).body, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"namespace":"default","name":"g"},
		"inner":{"size":0},"Parts":{"a":{"size":0}},"list":[{"size":1},{"size":0}],"Plain":{},"kept":{},"raw":{"config":{}},
		"any":{"deep":[null,{}]}}`)
}

func TestApplyOfAnUnstructuredObjectLeavesOutOnlyManagedFields(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	s.respond("PATCH /api/v1/namespaces/default/configmaps/a", `{"kind":"ConfigMap","apiVersion":"v1"}`)
	u := untyped("v1", "ConfigMap", "default", "a")
	u.SetResourceVersion("7")
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "other"}})
	u.Object["data"] = map[string]any{"gone": nil, "empty": map[string]any{}}
	u.Object["status"] = map[string]any{"x": "y"}
	if err := c.Apply(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, s.last(t).body, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"a","resourceVersion":"7"},
		"data":{"gone":null,"empty":{}},"status":{"x":"y"}}`)
}

func TestApplyOfMetadataSendsMetadata(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	s.respond("PATCH /api/v1/namespaces/default/configmaps/a",
		`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"}`)
	m := metadataOf("a")
	m.Labels = map[string]string{"x": "y"}
	if err := c.Apply(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, s.last(t).body,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"a","labels":{"x":"y"}}}`)
}

func TestStatusApplySendsNameAndStatusAlone(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	const what = "PATCH /apis/apps/v1/namespaces/default/deployments/web/status"
	s.respond(what, `{"kind":"Deployment","apiVersion":"apps/v1"}`)
	for name, obj := range map[string]object.Object{"typed": deployment(), "unstructured": func() object.Object {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment())
		if err != nil {
			t.Fatal(err)
		}
		u := untyped("apps/v1", "Deployment", "", "")
		for key, value := range content {
			u.Object[key] = value
		}
		return u
	}()} {
		t.Run(name, func(t *testing.T) {
			if err := c.Status().Apply(t.Context(), obj, client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
			got := s.last(t)
			if got.what != what+"?fieldManager=me&force=true" {
				t.Errorf("got %s", got.what)
			}
			sameJSON(t, got.body,
				`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"default","name":"web"},"status":{"replicas":3}}`)
		})
	}
}

func TestApplyToAnotherSubresourceSendsItsBody(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	const what = "PATCH /apis/apps/v1/namespaces/default/deployments/web/scale"
	s.respond(what, `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":4}}`)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	if err := c.SubResource("scale").Apply(t.Context(), deployment(), client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, s.last(t).body,
		`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"default"},"spec":{"replicas":2}}`)
	if scale.Spec.Replicas != 4 {
		t.Errorf("the body was not set to the answer: %v", scale)
	}
}

func TestApplyWithoutAnOwnerIsAnError(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	err := c.Apply(t.Context(), configMap("a"))
	if err == nil || !strings.Contains(err.Error(), "apply configmaps default/a: a field owner is required") {
		t.Errorf("got %v", err)
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func metadataOf(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}
}
