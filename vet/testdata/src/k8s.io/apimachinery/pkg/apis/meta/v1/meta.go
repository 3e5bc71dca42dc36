// Package v1 is a stub.
package v1

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

type Time struct{ time.Time }

func Now() Time { return Time{} }

func (t *Time) IsZero() bool { return true }

type OwnerReference struct{ Name string }

type ObjectMeta struct {
	Name, Namespace, ResourceVersion, GenerateName string
	UID                                            types.UID
	Generation                                     int64
	Labels, Annotations                            map[string]string
	Finalizers                                     []string
	OwnerReferences                                []OwnerReference
	DeletionTimestamp                              *Time
}

func (o *ObjectMeta) GetName() string                    { return o.Name }
func (o *ObjectMeta) GetNamespace() string               { return o.Namespace }
func (o *ObjectMeta) GetUID() types.UID                  { return o.UID }
func (o *ObjectMeta) GetGeneration() int64               { return o.Generation }
func (o *ObjectMeta) GetResourceVersion() string         { return o.ResourceVersion }
func (o *ObjectMeta) GetLabels() map[string]string       { return o.Labels }
func (o *ObjectMeta) GetAnnotations() map[string]string  { return o.Annotations }
func (o *ObjectMeta) SetLabels(l map[string]string)      { o.Labels = l }
func (o *ObjectMeta) SetAnnotations(a map[string]string) { o.Annotations = a }
func (o *ObjectMeta) SetFinalizers(f []string)           { o.Finalizers = f }
func (o *ObjectMeta) GetFinalizers() []string            { return o.Finalizers }
func (o *ObjectMeta) GetDeletionTimestamp() *Time        { return o.DeletionTimestamp }

type Object interface {
	GetName() string
	GetNamespace() string
	GetUID() types.UID
	GetGeneration() int64
	GetResourceVersion() string
	GetLabels() map[string]string
	GetAnnotations() map[string]string
	SetLabels(map[string]string)
	SetAnnotations(map[string]string)
	SetFinalizers([]string)
	GetFinalizers() []string
	GetDeletionTimestamp() *Time
}

type TypeMeta struct{ Kind, APIVersion string }

type ListMeta struct{ ResourceVersion, Continue string }

type ConditionStatus string

const (
	ConditionTrue  ConditionStatus = "True"
	ConditionFalse ConditionStatus = "False"
)

type Condition struct {
	Type               string
	Status             ConditionStatus
	ObservedGeneration int64
	LastTransitionTime Time
	Reason, Message    string
}

type PartialObjectMetadata struct {
	TypeMeta
	ObjectMeta
}

func (p *PartialObjectMetadata) DeepCopy() *PartialObjectMetadata { return p }

type PartialObjectMetadataList struct {
	TypeMeta
	ListMeta
	Items []PartialObjectMetadata
}

type ListOptions struct {
	LabelSelector, FieldSelector string
	Limit                        int64
}

type (
	GetOptions    struct{}
	CreateOptions struct{}
	UpdateOptions struct{}
)

type Preconditions struct {
	UID             *types.UID
	ResourceVersion *string
}

type DeleteOptions struct{ Preconditions *Preconditions }

func NewUIDPreconditions(uid string) *Preconditions { return nil }

func IsControlledBy(obj, owner Object) bool { return true }
