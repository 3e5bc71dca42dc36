// Package rbac compares the requests that a program sends with the permissions that its project grants.
//
// [Check] reads the +kubebuilder:rbac markers and the roles that config/ binds to service accounts, and returns a
// [Report] with findings of three classes: permissions that are missing, permissions of markers in excess, and what
// cannot be proven. [Edit] changes markers by the findings.
package rbac
