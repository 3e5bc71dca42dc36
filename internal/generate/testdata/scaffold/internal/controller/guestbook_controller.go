// Package controller reconciles guestbooks.
package controller

// Reconciler makes the world match the spec of each Guestbook.
type Reconciler struct{}

// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks,verbs=get;list;watch
// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks/status,verbs=patch

// Reconcile does nothing.
func (r *Reconciler) Reconcile() {}
