package apiserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// defaulter sets the defaults of values of one Go type, wherever they are in an object.
type defaulter struct {
	of  reflect.Type
	set func(pointer any)
}

func defaultsOf[T any](f func(value *T)) defaulter {
	return defaulter{reflect.TypeFor[T](), func(pointer any) { f(pointer.(*T)) }}
}

// set gives a value that is not there a default.
func set[T comparable](value *T, usual T) {
	if *value == *new(T) {
		*value = usual
	}
}

// setPointer is set for what may be absent.
func setPointer[T any](value **T, usual T) {
	if *value == nil {
		*value = &usual
	}
}

// defaulters are those of all built-in kinds.
var defaulters = sync.OnceValue(func() map[reflect.Type]func(any) {
	known := map[reflect.Type]func(any){}
	for _, list := range [][]defaulter{
		coreDefaults(), podDefaults(), serviceDefaults(), appsDefaults(), batchDefaults(), networkingDefaults(), autoscalingDefaults(),
		storageDefaults(), discoveryDefaults(), schedulingDefaults(), authenticationDefaults(), rbacDefaults(), admissionDefaults(),
	} {
		for _, d := range list {
			known[d.of] = d.set
		}
	}
	return known
})

// setAllDefaults sets the defaults of an object: of each struct before what is in it.
func setAllDefaults(object any) { defaultPlans.apply(object) }

// gated are the fields of features that are off: each write drops them, after managers have got what they have said.
var gated = sync.OnceValue(func() map[reflect.Type]func(any) {
	known := map[reflect.Type]func(any){}
	for _, d := range []defaulter{
		defaultsOf(func(action *corev1.HTTPGetAction) { action.Protocol = nil }),
		defaultsOf(func(action *corev1.GRPCAction) { action.Mode = nil }),
		defaultsOf(func(container *corev1.Container) { dropStopSignal(&container.Lifecycle) }),
		defaultsOf(func(container *corev1.EphemeralContainer) { dropStopSignal(&container.Lifecycle) }),
		defaultsOf(func(source *corev1.EmptyDirVolumeSource) { source.Mode = nil }),
		defaultsOf(func(source *corev1.SecretVolumeSource) { source.DefaultUser = nil }),
		defaultsOf(func(source *corev1.ConfigMapVolumeSource) { source.DefaultUser = nil }),
		defaultsOf(func(source *corev1.DownwardAPIVolumeSource) { source.DefaultUser = nil }),
		defaultsOf(func(source *corev1.ProjectedVolumeSource) { source.DefaultUser = nil }),
		defaultsOf(func(item *corev1.KeyToPath) { item.User = nil }),
		defaultsOf(func(file *corev1.DownwardAPIVolumeFile) { file.User = nil }),
		defaultsOf(func(source *corev1.ServiceAccountTokenProjection) { source.User = nil }),
		defaultsOf(func(source *corev1.ClusterTrustBundleProjection) { source.User = nil }),
		defaultsOf(func(source *corev1.PodCertificateProjection) { source.User = nil }),
		defaultsOf(func(mount *corev1.VolumeMount) { mount.BindMountOptions = nil }),
		defaultsOf(func(spec *corev1.PodSpec) { spec.SchedulingGroup, spec.EvictionResponders = nil, nil }),
		defaultsOf(func(status *corev1.PodStatus) {
			status.VolumeHealth, status.NodeAllocatableResourceClaimStatuses = nil, nil
		}),
		defaultsOf(func(spec *corev1.PersistentVolumeClaimSpec) {
			if spec.DataSourceRef != nil && deref(spec.DataSourceRef.Namespace) != "" {
				spec.DataSourceRef = nil
			}
		}),
		defaultsOf(func(status *corev1.PersistentVolumeClaimStatus) { status.HealthStatus = nil }),
		//lint:ignore SA1019 clients still send it
		defaultsOf(func(spec *corev1.NodeSpec) { spec.PodPreemptionPolicy, spec.ConfigSource = nil, nil }),
		defaultsOf(func(status *corev1.NodeStatus) { status.Config = nil }),
		defaultsOf(func(spec *batchv1.JobSpec) { spec.Scheduling = nil }),
		defaultsOf(func(status *storagev1.CSINodeStatus) { status.StorageHealth = nil }),
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

// dropGated drops the fields of features that are off.
func dropGated(object any) { gatedPlans.apply(object) }

var (
	defaultPlans = plans{setters: defaulters, texts: true}
	gatedPlans   = plans{setters: gated}
)

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
			must(json.Unmarshal([]byte(text), v.Field(i).Addr().Interface()))
		}
		p.fields[i].apply(v.Field(i))
	}
}
