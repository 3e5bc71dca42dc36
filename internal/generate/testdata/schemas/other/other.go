// Package other has types for fields of another package.
package other

// Blob is bytes.
// +kubebuilder:validation:MinLength=2
type Blob []byte

// Name is a name.
// +kubebuilder:validation:MaxLength=63
type Name string

type Size int32

type Names = []string
