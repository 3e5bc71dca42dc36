// Package types is a stub.
package types

type UID string

type NamespacedName struct{ Namespace, Name string }
