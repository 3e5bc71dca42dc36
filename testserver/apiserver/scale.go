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

func scaleColumns(paths apiextensionsv1.CustomResourceSubresourceScale) (
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

// scaleStorage is the scale subresource of custom resources, which is a view of some of their fields.
type scaleStorage struct {
	objects  *registry
	paths    apiextensionsv1.CustomResourceSubresourceScale
	parent   schema.GroupVersion
	mappings managedfields.ResourcePathMappings
}

var _ rest.Patcher = (*scaleStorage)(nil)

func (s *scaleStorage) New() runtime.Object { return &autoscalingv1.Scale{} }
func (s *scaleStorage) Destroy()            {}

func (s *scaleStorage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := s.objects.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	scale, found, err := s.of(object)
	if err == nil && !found {
		err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.paths.SpecReplicasPath))
	}
	if err != nil {
		return nil, err
	}
	return scale, nil
}

// of returns the scale of an object, and whether the object has the field with the desired number of replicas.
func (s *scaleStorage) of(object runtime.Object) (scale *autoscalingv1.Scale, found bool, err error) {
	u := object.(*unstructured.Unstructured)
	replicas, found, err := unstructured.NestedInt64(u.Object, pathOf(s.paths.SpecReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	have, _, err := unstructured.NestedInt64(u.Object, pathOf(s.paths.StatusReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	var selector string
	if path := pointed(s.paths.LabelSelectorPath); path != "" {
		if selector, _, err = unstructured.NestedString(u.Object, pathOf(path)...); err != nil {
			return nil, false, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: scaleKind.GroupVersion().String(), Kind: scaleKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
			CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(have), Selector: selector},
	}, found, nil
}

func (s *scaleStorage) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	onScale := func(ctx context.Context, object, old runtime.Object) error {
		scale, _, err := s.of(object)
		if err != nil {
			return err
		}
		was, _, err := s.of(old)
		if err != nil {
			return err
		}
		return validateUpdate(ctx, scale, was)
	}
	object, _, err := s.objects.Update(ctx, name, scaleUpdate{info, s}, validateCreation, onScale, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, _, err := s.of(object)
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

func (s scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	u := old.DeepCopyObject().(*unstructured.Unstructured)
	fields := managedfields.NewScaleHandler(u.GetManagedFields(), s.storage.parent, s.storage.mappings)
	was, found, err := s.storage.of(u)
	if err != nil {
		return nil, err
	}
	const missing = math.MinInt32
	if !found {
		was.Spec.Replicas = missing
	}
	if was.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := s.UpdatedObjectInfo.UpdatedObject(ctx, was)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", updated))
	}
	if scale.Spec.Replicas == missing {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty",
			s.storage.paths.SpecReplicasPath))
	}
	if err := unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas),
		pathOf(s.storage.paths.SpecReplicasPath)...); err != nil {
		return nil, err
	}
	if scale.ResourceVersion != "" {
		u.SetResourceVersion(scale.ResourceVersion)
	}
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	u.SetManagedFields(entries)
	return u, nil
}

// kindScale is the scale subresource of a built-in kind.
type kindScale struct {
	objects *registry
	of      func(object runtime.Object) builtin.Scaled
	parent  schema.GroupVersion
}

var _ rest.Patcher = (*kindScale)(nil)

func (s *kindScale) New() runtime.Object { return &autoscalingv1.Scale{} }
func (s *kindScale) Destroy()            {}

func (s *kindScale) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := s.objects.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return s.scale(object), nil
}

func (s *kindScale) scale(object runtime.Object) *autoscalingv1.Scale {
	accessor, where := must.Access(object), s.of(object)
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: accessor.GetName(), Namespace: accessor.GetNamespace(), UID: accessor.GetUID(),
			ResourceVersion: accessor.GetResourceVersion(), CreationTimestamp: accessor.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: *where.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: where.Current, Selector: where.Selector},
	}
}

func (s *kindScale) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	onScale := func(ctx context.Context, object, old runtime.Object) error {
		return validateUpdate(ctx, s.scale(object), s.scale(old))
	}
	object, _, err := s.objects.Update(ctx, name, kindScaleUpdate{info, s}, validateCreation, onScale, false, options)
	if err != nil {
		return nil, false, err
	}
	return s.scale(object), false, nil
}

// kindScaleUpdate converts an update of a scale to an update of the object.
type kindScaleUpdate struct {
	rest.UpdatedObjectInfo
	storage *kindScale
}

func (u kindScaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject()
	accessor := must.Access(object)
	name := accessor.GetName()
	replicas, spec := "replicas", "spec"
	mappings := managedfields.ResourcePathMappings{u.storage.parent.String(): {{FieldName: &spec}, {FieldName: &replicas}}}
	fields := managedfields.NewScaleHandler(accessor.GetManagedFields(), u.storage.parent, mappings)
	was := u.storage.scale(object)
	var err error
	if was.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := u.UpdatedObjectInfo.UpdatedObject(ctx, was)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected input object type to be Scale, but %T", updated))
	}
	problems := metav1validation.ValidateManagedFields(scale.ManagedFields, field.NewPath("metadata", "managedFields"))
	if scale.Spec.Replicas < 0 {
		problems = append(problems, field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas,
			"must be greater than or equal to 0"))
	}
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: scaleKind.Group, Kind: scaleKind.Kind}, name, problems)
	}
	if scale.UID != "" && scale.UID != accessor.GetUID() {
		return nil, apierrors.NewConflict(u.storage.objects.resource, name,
			//lint:ignore ST1005 the text of the real server
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, accessor.GetUID()))
	}
	*u.storage.of(object).Replicas = scale.Spec.Replicas
	accessor.SetResourceVersion(scale.ResourceVersion)
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	accessor.SetManagedFields(entries)
	return object, nil
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
