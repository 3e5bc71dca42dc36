package builtin

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Defaulter sets the defaults of values of one Go type, wherever they are in an object.
type Defaulter struct {
	of  reflect.Type
	set func(pointer any)
}

// DefaultsOf has f set the defaults of values of a type.
func DefaultsOf[T any](f func(value *T)) Defaulter {
	return Defaulter{reflect.TypeFor[T](), func(pointer any) { f(pointer.(*T)) }}
}

// Set gives a value that is not there a default.
func Set[T comparable](value *T, usual T) {
	if *value == *new(T) {
		*value = usual
	}
}

// SetPointer is set for what may be absent.
func SetPointer[T any](value **T, usual T) {
	if *value == nil {
		*value = &usual
	}
}

// NewDefaults sets the defaults of an object: of each struct before what is in it. They are those of the kinds here, and of more.
func NewDefaults(more ...[]Defaulter) func(object any) {
	known := map[reflect.Type]func(any){}
	for _, list := range append([][]Defaulter{
		coreDefaults(), podDefaults(), serviceDefaults(), appsDefaults(), batchDefaults(), networkingDefaults(), autoscalingDefaults(),
		storageDefaults(), discoveryDefaults(), schedulingDefaults(), rbacDefaults(), admissionDefaults(),
	}, more...) {
		for _, d := range list {
			known[d.of] = d.set
		}
	}
	all := &plans{setters: func() map[reflect.Type]func(any) { return known }, texts: true}
	return all.apply
}

// gated are the fields of features that are off: each write drops them, after managers have got what they have said.
var gated = sync.OnceValue(func() map[reflect.Type]func(any) {
	known := map[reflect.Type]func(any){}
	for _, d := range []Defaulter{
		DefaultsOf(func(action *corev1.HTTPGetAction) { action.Protocol = nil }),
		DefaultsOf(func(action *corev1.GRPCAction) { action.Mode = nil }),
		DefaultsOf(func(container *corev1.Container) { dropStopSignal(&container.Lifecycle) }),
		DefaultsOf(func(container *corev1.EphemeralContainer) { dropStopSignal(&container.Lifecycle) }),
		DefaultsOf(func(source *corev1.EmptyDirVolumeSource) { source.Mode = nil }),
		DefaultsOf(func(source *corev1.SecretVolumeSource) { source.DefaultUser = nil }),
		DefaultsOf(func(source *corev1.ConfigMapVolumeSource) { source.DefaultUser = nil }),
		DefaultsOf(func(source *corev1.DownwardAPIVolumeSource) { source.DefaultUser = nil }),
		DefaultsOf(func(source *corev1.ProjectedVolumeSource) { source.DefaultUser = nil }),
		DefaultsOf(func(item *corev1.KeyToPath) { item.User = nil }),
		DefaultsOf(func(file *corev1.DownwardAPIVolumeFile) { file.User = nil }),
		DefaultsOf(func(source *corev1.ServiceAccountTokenProjection) { source.User = nil }),
		DefaultsOf(func(source *corev1.ClusterTrustBundleProjection) { source.User = nil }),
		DefaultsOf(func(source *corev1.PodCertificateProjection) { source.User = nil }),
		DefaultsOf(func(mount *corev1.VolumeMount) { mount.BindMountOptions = nil }),
		DefaultsOf(func(spec *corev1.PodSpec) { spec.SchedulingGroup, spec.EvictionResponders = nil, nil }),
		DefaultsOf(func(status *corev1.PodStatus) {
			status.VolumeHealth, status.NodeAllocatableResourceClaimStatuses = nil, nil
		}),
		DefaultsOf(func(mount *corev1.VolumeMountStatus) { mount.VolumeStatus = nil }),
		DefaultsOf(func(status *corev1.PersistentVolumeClaimStatus) { status.HealthStatus = nil }),
		//lint:ignore SA1019 clients still send it
		DefaultsOf(func(spec *corev1.NodeSpec) { spec.PodPreemptionPolicy, spec.ConfigSource = nil, nil }),
		DefaultsOf(func(status *corev1.NodeStatus) { status.Config = nil }),
		DefaultsOf(func(spec *batchv1.JobSpec) { spec.Scheduling = nil }),
		DefaultsOf(func(status *storagev1.CSINodeStatus) { status.StorageHealth = nil }),
	} {
		known[d.of] = d.set
	}
	return known
})

func dropStopSignal(lifecycle **corev1.Lifecycle) {
	if *lifecycle != nil && (*lifecycle).StopSignal != nil {
		if (*lifecycle).StopSignal = nil; **lifecycle == (corev1.Lifecycle{}) {
			*lifecycle = nil
		}
	}
}

// DropGated drops the fields of features that are off.
func DropGated(object any) { gatedPlans.apply(object) }

var gatedPlans = plans{setters: gated}

// plans are those of types, for one list of functions by type. A plan is made when it is first asked for. Safe for concurrent use.
type plans struct {
	setters func() map[reflect.Type]func(any)
	texts   bool // whether fields have defaults too

	mu    sync.Mutex
	known map[reflect.Type]*defaultPlan
}

func (p *plans) apply(object any) {
	v := reflect.ValueOf(object).Elem()
	p.of(v.Type()).apply(v)
}

// defaultPlan says where in the values of a type there is something to default.
type defaultPlan struct {
	set    func(any)
	texts  map[int]string       // JSON of the defaults of fields
	fields map[int]*defaultPlan // nil for those without anything
	order  []int
	elem   *defaultPlan
}

func (p *plans) of(t reflect.Type) *defaultPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[reflect.Type]*defaultPlan{}
	}
	return p.ofLocked(t)
}

// ofLocked is the plan of a type, or nil when there is nothing to do.
func (p *plans) ofLocked(t reflect.Type) *defaultPlan {
	if plan, ok := p.known[t]; ok {
		return plan
	}
	plan := &defaultPlan{set: p.setters()[t]}
	p.known[t] = plan
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		plan.elem = p.ofLocked(t.Elem())
	case reflect.Struct:
		p.addFieldsLocked(plan, t)
	}
	if plan.set == nil && plan.elem == nil && len(plan.order) == 0 {
		plan = nil
	}
	p.known[t] = plan
	return plan
}

func (p *plans) addFieldsLocked(plan *defaultPlan, t reflect.Type) {
	plan.texts, plan.fields = map[int]string{}, map[int]*defaultPlan{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text, usual := strings.CutPrefix(merging()[goName(t)+"."+name], "default ")
		usual = usual && p.texts
		inner := p.ofLocked(f.Type)
		if !usual && inner == nil {
			continue
		}
		plan.order, plan.fields[i] = append(plan.order, i), inner
		if usual {
			plan.texts[i] = text
		}
	}
}

func (p *defaultPlan) apply(v reflect.Value) {
	if p == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.elem.apply(v.Elem())
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			p.elem.apply(v.Index(i))
		}
		return
	}
	if p.set != nil {
		p.set(v.Addr().Interface())
	}
	for _, i := range p.order {
		if text, ok := p.texts[i]; ok && v.Field(i).IsZero() {
			must.Do(json.Unmarshal([]byte(text), v.Field(i).Addr().Interface()))
		}
		p.fields[i].apply(v.Field(i))
	}
}

// coreDefaults are the defaults of the core group, but for those of pods and of what servers keep for themselves.
func coreDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(configMap *corev1.ConfigMap) {
			if configMap.Data == nil {
				configMap.Data = map[string]string{}
			}
		}),
		DefaultsOf(func(controller *corev1.ReplicationController) {
			if template := controller.Spec.Template; template != nil && template.Labels != nil {
				if len(controller.Spec.Selector) == 0 {
					controller.Spec.Selector = template.Labels
				}
				if len(controller.Labels) == 0 {
					controller.Labels = template.Labels
				}
			}
			SetPointer(&controller.Spec.Replicas, 1)
		}),
		DefaultsOf(func(volume *corev1.PersistentVolume) {
			Set(&volume.Status.Phase, corev1.VolumePending)
			Set(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
			SetPointer(&volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}),
		DefaultsOf(func(claim *corev1.PersistentVolumeClaim) { Set(&claim.Status.Phase, corev1.ClaimPending) }),
		DefaultsOf(func(spec *corev1.PersistentVolumeClaimSpec) {
			SetPointer(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}),
		DefaultsOf(func(port *corev1.EndpointPort) { Set(&port.Protocol, corev1.ProtocolTCP) }),
		DefaultsOf(func(spec *corev1.NodeSpec) { // the first address range stands in two fields
			switch {
			case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
				spec.PodCIDRs = []string{spec.PodCIDR}
			case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
				spec.PodCIDR = spec.PodCIDRs[0]
			}
		}),
		DefaultsOf(func(status *corev1.NodeStatus) {
			if status.Allocatable == nil {
				status.Allocatable = status.Capacity
			}
		}),
		DefaultsOf(func(limit *corev1.LimitRangeItem) {
			if limit.Type != corev1.LimitTypeContainer {
				return
			}
			for _, lists := range [][2]*corev1.ResourceList{{&limit.Default, &limit.Max}, {&limit.DefaultRequest, &limit.Default}, {&limit.DefaultRequest, &limit.Min}} {
				if *lists[0] == nil {
					*lists[0] = corev1.ResourceList{}
				}
				for name, quantity := range *lists[1] {
					if _, ok := (*lists[0])[name]; !ok {
						(*lists[0])[name] = quantity.DeepCopy()
					}
				}
			}
		}),
		DefaultsOf(func(secret *corev1.Secret) {
			Set(&secret.Type, corev1.SecretTypeOpaque)
			if len(secret.StringData) > 0 && secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
			secret.StringData = nil
		}),
	}
}
