// Package rbac compares the requests that a program sends with the permissions that its project grants.
//
// [Check] reads the +kubebuilder:rbac markers and the roles that config/ binds to service accounts. It returns a
// [Report] with findings of four classes: missing permissions, permissions in excess, permissions that it cannot prove,
// and notes about markers that can grant less. [Edit] applies the findings to the markers.
package rbac
