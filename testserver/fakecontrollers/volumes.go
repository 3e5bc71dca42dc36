package fakecontrollers

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// volumes binds each claim to a matching volume. If there is none, it creates a volume, unless the claim requests the
// empty class. It removes the protection of claims and volumes when they are no longer in use.
var volumes = Controller{"persistentvolume-binder-controller", func(m *manager.Manager) error {
	if err := storagev1.AddToScheme(m.Scheme()); err != nil {
		return err
	}
	p := &volumeController{m.Client()}
	b := controller.For[*corev1.PersistentVolumeClaim](m).Named("persistentvolume-binder-controller").WithOptions(
		controller.Options{MaxConcurrentReconciles: 1}).
		Watches(handler.For(p.claims)).Watches(handler.For(claimsOf))
	if err := b.Complete(byName[corev1.PersistentVolumeClaim](m.Client(), p.bind)); err != nil {
		return err
	}
	return controller.For[*corev1.PersistentVolume](m).Named("persistentvolume-protection-controller").Watches(
		handler.For(volumesOf)).
		Complete(byName[corev1.PersistentVolume](m.Client(), p.keep))
}}

const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
	bindCompleted    = "pv.kubernetes.io/bind-completed"
	boundByPlayer    = "pv.kubernetes.io/bound-by-controller"
	provisionedBy    = "pv.kubernetes.io/provisioned-by"
	provisioner      = "fakecontrollers.kctrl.dev/volumes"
)

type volumeController struct{ client.Client }

// claims returns a request for the claim to which a volume is bound. For an unbound volume, it returns requests for the
// claims that wait for a volume, or for this volume.
func (p *volumeController) claims(ctx context.Context, volume *corev1.PersistentVolume) (requests []reconcile.Request) {
	if ref := volume.Spec.ClaimRef; ref != nil {
		return []reconcile.Request{{NamespacedName: object.Key{Namespace: ref.Namespace, Name: ref.Name}}}
	}
	var all corev1.PersistentVolumeClaimList
	if err := p.List(ctx, &all); err != nil {
		return nil
	}
	for i := range all.Items {
		if name := all.Items[i].Spec.VolumeName; name == "" || name == volume.Name {
			requests = append(requests, requestFor(&all.Items[i]))
		}
	}
	return requests
}

// claimsOf returns requests for the claims that a pod uses.
func claimsOf(_ context.Context, pod *corev1.Pod) (requests []reconcile.Request) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			requests = append(requests, reconcile.Request{NamespacedName: object.Key{Namespace: pod.Namespace,
				Name: v.PersistentVolumeClaim.ClaimName}})
		case v.Ephemeral != nil:
			requests = append(requests, reconcile.Request{NamespacedName: object.Key{Namespace: pod.Namespace,
				Name: pod.Name + "-" + v.Name}})
		}
	}
	return requests
}

func volumesOf(_ context.Context, claim *corev1.PersistentVolumeClaim) []reconcile.Request {
	if claim.Spec.VolumeName == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: object.Key{Name: claim.Spec.VolumeName}}}
}

func (p *volumeController) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) (reconcile.Result, error) {
	if claim.DeletionTimestamp != nil {
		return reconcile.Result{}, p.releaseClaim(ctx, claim)
	}
	if err := p.noteUse(ctx, claim); err != nil {
		return reconcile.Result{}, err
	}
	volume, err := p.volumeFor(ctx, claim)
	if err != nil || volume == nil {
		return reconcile.Result{}, err
	}
	if ref := volume.Spec.ClaimRef; ref == nil || ref.UID == "" {
		volume.Spec.ClaimRef = &corev1.ObjectReference{
			Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			ResourceVersion: claim.ResourceVersion,
		}
		metav1.SetMetaDataAnnotation(&volume.ObjectMeta, boundByPlayer, "yes")
		if err := p.Update(ctx, volume); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := p.setPhase(ctx, volume, corev1.VolumeBound); err != nil {
		return reconcile.Result{}, err
	}
	if claim.Annotations[bindCompleted] == "" {
		if claim.Spec.VolumeName == "" {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, boundByPlayer, "yes")
		}
		claim.Spec.VolumeName = volume.Name
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, bindCompleted, "yes")
		if err := p.Update(ctx, claim); err != nil {
			return reconcile.Result{}, err
		}
	}
	before := claim.DeepCopy()
	claim.Status.Phase, claim.Status.AccessModes, claim.Status.Capacity = corev1.ClaimBound, volume.Spec.AccessModes,
		volume.Spec.Capacity
	return reconcile.Result{}, writeStatus(ctx, p.Client, before, claim)
}

// volumeFor returns the volume of a claim or, if the claim is not bound, a volume that satisfies it. It returns nil if
// there is none.
func (p *volumeController) volumeFor(ctx context.Context,
	claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, error) {
	var all corev1.PersistentVolumeList
	if err := p.List(ctx, &all); err != nil {
		return nil, err
	}
	slices.SortFunc(all.Items, func(a, b corev1.PersistentVolume) int { // smallest sufficient volume first
		return cmp.Or(a.Spec.Capacity.Storage().Cmp(*b.Spec.Capacity.Storage()), cmp.Compare(a.Name, b.Name))
	})
	for i := range all.Items {
		volume := &all.Items[i]
		switch ref := volume.Spec.ClaimRef; {
		case volume.DeletionTimestamp != nil:
		case ref != nil:
			if ref.Namespace == claim.Namespace && ref.Name == claim.Name && (ref.UID == "" || ref.UID == claim.UID) {
				return volume, nil
			}
		case claim.Spec.VolumeName == volume.Name, claim.Spec.VolumeName == "" && willDo(volume, claim):
			return volume, nil
		}
	}
	if class := claim.Spec.StorageClassName; claim.Spec.VolumeName != "" || class != nil && *class == "" ||
		claim.Spec.Selector != nil {
		return nil, nil
	}
	return p.provision(ctx, claim)
}

// willDo reports whether an unbound volume satisfies a claim.
func willDo(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	if claim.Spec.Selector == nil {
		selector = labels.Everything()
	}
	asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return err == nil && selector.Matches(labels.Set(volume.Labels)) &&
		volume.Spec.StorageClassName == valueOr(claim.Spec.StorageClassName, "") &&
		volume.Spec.Capacity.Storage().Cmp(asked) >= 0 &&
		valueOr(volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == valueOr(claim.Spec.VolumeMode,
			corev1.PersistentVolumeFilesystem) &&
		!slices.ContainsFunc(claim.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
			return !slices.Contains(volume.Spec.AccessModes, mode)
		})
}

// provision creates a volume with the size and the class of a claim.
func (p *volumeController) provision(ctx context.Context,
	claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, error) {
	name, policy := "pvc-"+string(claim.UID), corev1.PersistentVolumeReclaimDelete
	if class := valueOr(claim.Spec.StorageClassName, ""); class != "" {
		var found storagev1.StorageClass
		switch err := p.Get(ctx, object.Key{Name: class}, &found); {
		case client.IgnoreNotFound(err) != nil:
			return nil, err
		case err == nil:
			policy = valueOr(found.ReclaimPolicy, policy)
		}
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes,
			VolumeMode:  claim.Spec.VolumeMode, StorageClassName: valueOr(claim.Spec.StorageClassName, ""),
			PersistentVolumeReclaimPolicy: policy,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/volumes/" + name},
			},
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
				ResourceVersion: claim.ResourceVersion,
			},
		},
	}
	return volume, p.Create(ctx, volume)
}

// inUse reports whether a pod uses a claim.
func (p *volumeController) inUse(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	var pods corev1.PodList
	if err := p.List(ctx, &pods, client.InNamespace(claim.Namespace)); err != nil {
		return false, err
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return !podutil.IsPodTerminal(&pod) && slices.Contains(claimsOf(ctx, &pod), requestFor(claim))
	}), nil
}

// noteUse annotates a claim that no pod uses, and removes the annotation when a pod uses the claim.
func (p *volumeController) noteUse(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	used, err := p.inUse(ctx, claim)
	if err != nil {
		return err
	}
	before := claim.DeepCopy()
	fresh := corev1.PersistentVolumeClaimCondition{Type: "Unused", Status: corev1.ConditionTrue, Reason: "NoPodsUsingPVC",
		Message: "No pods are currently referencing this PVC"}
	if used {
		fresh.Status, fresh.Reason, fresh.Message = corev1.ConditionFalse, "PodUsingPVC",
			"A pod is currently referencing this PVC"
	}
	fresh.LastTransitionTime = metav1.Now()
	i := slices.IndexFunc(claim.Status.Conditions,
		func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == fresh.Type })
	switch {
	case i < 0 && !used:
		claim.Status.Conditions = append(claim.Status.Conditions, fresh)
	case i >= 0 && claim.Status.Conditions[i].Status != fresh.Status:
		claim.Status.Conditions[i] = fresh
	}
	return writeStatus(ctx, p.Client, before, claim)
}

// releaseClaim removes the protection from a deleted claim, once no pod uses it.
func (p *volumeController) releaseClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if used, err := p.inUse(ctx, claim); err != nil || used {
		return err
	}
	if !controllerutil.RemoveFinalizer(claim, claimProtection) {
		return nil
	}
	return client.IgnoreNotFound(p.Update(ctx, claim))
}

// keep updates a volume after changes of its claim. If the claim was deleted, the volume is deleted or retained, as its
// policy requires. A deleted volume is removed when it is no longer bound.
func (p *volumeController) keep(ctx context.Context, volume *corev1.PersistentVolume) (reconcile.Result, error) {
	ref, bound := volume.Spec.ClaimRef, false
	if ref != nil {
		var claim corev1.PersistentVolumeClaim
		err := p.Get(ctx, object.Key{Namespace: ref.Namespace, Name: ref.Name}, &claim)
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		bound = err == nil && (ref.UID == "" || claim.UID == ref.UID)
	}
	switch {
	case bound:
		return reconcile.Result{}, nil
	case volume.DeletionTimestamp != nil:
		if !controllerutil.RemoveFinalizer(volume, volumeProtection) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(p.Update(ctx, volume))
	case ref == nil || ref.UID == "":
		return reconcile.Result{}, p.setPhase(ctx, volume, corev1.VolumeAvailable)
	case volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		return reconcile.Result{}, controllerutil.DeleteWithUID(ctx, p.Client, volume)
	}
	return reconcile.Result{}, p.setPhase(ctx, volume, corev1.VolumeReleased)
}

func (p *volumeController) setPhase(ctx context.Context, volume *corev1.PersistentVolume,
	phase corev1.PersistentVolumePhase) error {
	before := volume.DeepCopy()
	if volume.Status.Phase != phase {
		now := metav1.Now()
		volume.Status.Phase, volume.Status.LastPhaseTransitionTime = phase, &now
	}
	return writeStatus(ctx, p.Client, before, volume)
}
