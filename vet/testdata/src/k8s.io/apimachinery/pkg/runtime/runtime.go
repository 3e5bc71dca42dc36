// Package runtime is a stub.
package runtime

type Scheme struct{}

type Object interface{ DeepCopyObject() Object }
