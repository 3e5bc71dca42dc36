package apiserver

import (
	"context"
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

var (
	scaleKind   = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	scaleScheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		must.Do(autoscalingv1.AddToScheme(scheme))
		metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
		return scheme
	}()
	scaleCodecs = serializer.NewCodecFactory(scaleScheme, serializer.WithStreamingCollectionEncodingToJSON(),
		serializer.WithStreamingCollectionEncodingToProtobuf())
)

func scaleColumns(paths *apiextensionsv1.CustomResourceSubresourceScale) (
	columns []apiextensionsv1.CustomResourceColumnDefinition) {
	if paths.SpecReplicasPath != "" {
		columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: "Desired", Type: "integer",
			Description: "Number of desired replicas", JSONPath: ".spec.replicas"})
	}
	if paths.StatusReplicasPath != "" {
		columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: "Available", Type: "integer",
			Description: "Number of actual replicas", JSONPath: ".status.replicas"})
	}
	return append(columns, ageColumn)
}

func scaleModel() *spec.Schema {
	object := func(properties map[string]spec.Schema) *spec.Schema {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}}
	}
	model := object(map[string]spec.Schema{
		"spec":   *object(map[string]spec.Schema{"replicas": *spec.Int32Property()}),
		"status": *object(map[string]spec.Schema{"replicas": *spec.Int32Property(), "selector": *spec.StringProperty()}),
	})
	setObject(model)
	return model
}

// scaleStorage is the scale subresource of a kind. A scale is a view of some fields of an object.
type scaleStorage struct {
	objects   *registry
	fields    scaleFields
	path      string // of the desired number of replicas
	parent    schema.GroupVersion
	mappings  managedfields.ResourcePathMappings
	wrongType string // format of the error for an update with an object of another kind
}

// scaleFields reads and writes the fields of an object to which its scale refers.
type scaleFields interface {
	// scale returns the scale of an object, and whether the object has the field with the desired number of replicas.
	scale(object runtime.Object) (scale *autoscalingv1.Scale, found bool, err error)
	// set validates a scale, and sets the desired number of replicas and the version of an object.
	set(object runtime.Object, scale *autoscalingv1.Scale) error
}

var _ rest.Patcher = (*scaleStorage)(nil)

func (s *scaleStorage) New() runtime.Object { return &autoscalingv1.Scale{} }
func (s *scaleStorage) Destroy()            {}

func (s *scaleStorage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := s.objects.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	scale, found, err := s.fields.scale(object)
	if err == nil && !found {
		err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.path))
	}
	if err != nil {
		return nil, err
	}
	return scale, nil
}

func (s *scaleStorage) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	onScale := func(ctx context.Context, object, old runtime.Object) error {
		scale, _, err := s.fields.scale(object)
		if err != nil {
			return err
		}
		was, _, err := s.fields.scale(old)
		if err != nil {
			return err
		}
		return validateUpdate(ctx, scale, was)
	}
	object, _, err := s.objects.Update(ctx, name, scaleUpdate{info, s}, validateCreation, onScale, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, _, err := s.fields.scale(object)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	return scale, false, nil
}

// scaleUpdate converts an update of a scale to an update of the object.
type scaleUpdate struct {
	rest.UpdatedObjectInfo
	storage *scaleStorage
}

// noReplicas is the desired number of replicas of an object that lacks the field.
const noReplicas = math.MinInt32

func (u scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject()
	accessor := must.Access(object)
	entries := managedfields.NewScaleHandler(accessor.GetManagedFields(), u.storage.parent, u.storage.mappings)
	was, found, err := u.storage.fields.scale(object)
	if err != nil {
		return nil, err
	}
	if !found {
		was.Spec.Replicas = noReplicas
	}
	if was.ManagedFields, err = entries.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := u.UpdatedObjectInfo.UpdatedObject(ctx, was)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(u.storage.wrongType, updated))
	}
	if err := u.storage.fields.set(object, scale); err != nil {
		return nil, err
	}
	managed, err := entries.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	accessor.SetManagedFields(managed)
	return object, nil
}

// newScale returns a scale with the metadata of an object.
func newScale(of metav1.Object, replicas, current int32, selector string) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: of.GetName(), Namespace: of.GetNamespace(), UID: of.GetUID(), ResourceVersion: of.GetResourceVersion(),
			CreationTimestamp: of.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: current, Selector: selector},
	}
}

// customScale has the fields of custom resources, at the paths in their definition.
type customScale struct {
	paths *apiextensionsv1.CustomResourceSubresourceScale
}

func (c customScale) scale(object runtime.Object) (scale *autoscalingv1.Scale, found bool, err error) {
	u := object.(*unstructured.Unstructured)
	replicas, found, err := unstructured.NestedInt64(u.Object, pathOf(c.paths.SpecReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	current, _, err := unstructured.NestedInt64(u.Object, pathOf(c.paths.StatusReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	var selector string
	if path := builtin.Deref(c.paths.LabelSelectorPath); path != "" {
		if selector, _, err = unstructured.NestedString(u.Object, pathOf(path)...); err != nil {
			return nil, false, err
		}
	}
	scale = newScale(u, int32(replicas), int32(current), selector)
	scale.SetGroupVersionKind(scaleKind)
	return scale, found, nil
}

func (c customScale) set(object runtime.Object, scale *autoscalingv1.Scale) error {
	u := object.(*unstructured.Unstructured)
	if scale.Spec.Replicas == noReplicas {
		return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", c.paths.SpecReplicasPath))
	}
	if scale.ResourceVersion != "" {
		u.SetResourceVersion(scale.ResourceVersion)
	}
	return unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas), pathOf(c.paths.SpecReplicasPath)...)
}

// kindScale has the fields of a built-in kind.
type kindScale struct {
	resource schema.GroupResource
	of       func(object runtime.Object) builtin.Scaled
}

func (k kindScale) scale(object runtime.Object) (scale *autoscalingv1.Scale, found bool, err error) {
	fields := k.of(object)
	return newScale(must.Access(object), *fields.Replicas, fields.Current, fields.Selector), true, nil
}

func (k kindScale) set(object runtime.Object, scale *autoscalingv1.Scale) error {
	accessor := must.Access(object)
	problems := metav1validation.ValidateManagedFields(scale.ManagedFields, field.NewPath("metadata", "managedFields"))
	if scale.Spec.Replicas < 0 {
		problems = append(problems, field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas,
			"must be greater than or equal to 0"))
	}
	if len(problems) > 0 {
		return apierrors.NewInvalid(scaleKind.GroupKind(), accessor.GetName(), problems)
	}
	if scale.UID != "" && scale.UID != accessor.GetUID() {
		return apierrors.NewConflict(k.resource, accessor.GetName(),
			//lint:ignore ST1005 the text of the real server
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, accessor.GetUID()))
	}
	*k.of(object).Replicas = scale.Spec.Replicas
	accessor.SetResourceVersion(scale.ResourceVersion)
	return nil
}

// kindScaleTable has the columns of scales of built-in kinds.
var kindScaleTable = &builtin.Kind{Columns: []builtin.Column{
	builtin.Col("Name", "string", metav1.ObjectMeta{}.SwaggerDoc()["name"],
		func(s *autoscalingv1.Scale) any { return s.Name }),
	builtin.Col("Desired", "integer", autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"],
		func(s *autoscalingv1.Scale) any { return int64(s.Spec.Replicas) }),
	builtin.Col("Available", "integer", autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"],
		func(s *autoscalingv1.Scale) any { return int64(s.Status.Replicas) }),
	builtin.SinceColumn,
}}
