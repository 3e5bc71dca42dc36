package foreignowner

import (
	v1 "example.com/api/v1"
	kutil "github.com/kctrl-dev/kctrl/runtime/controllerutil"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

func clusterRole(site *v1.Site, scheme *runtime.Scheme) error {
	role := &rbacv1.ClusterRole{}
	return ctrl.SetControllerReference(site, role, scheme) // want `foreignowner: a namespaced Site cannot own a cluster-scoped ClusterRole`
}

func namespace(deployment *corev1.Pod, scheme *runtime.Scheme) error {
	return kutil.SetControllerReference(deployment, &corev1.Namespace{}, scheme) // want `a namespaced Pod cannot own a cluster-scoped Namespace`
}

func tenant(site *v1.Site, scheme *runtime.Scheme) error {
	return kutil.SetControllerReference(site, &v1.Tenant{}, scheme) // want `a namespaced Site cannot own a cluster-scoped Tenant`
}

func constant(site *v1.Site, scheme *runtime.Scheme) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "kube-system"}}
	return ctrl.SetControllerReference(site, secret, scheme) // want `the object is in namespace "kube-system", and its owner Site in any namespace`
}

func sameNamespace(site *v1.Site, scheme *runtime.Scheme) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: site.Namespace}}
	return ctrl.SetControllerReference(site, secret, scheme)
}

func clusterOwner(tenant *v1.Tenant, scheme *runtime.Scheme) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "kube-system"}}
	return ctrl.SetControllerReference(tenant, secret, scheme)
}
