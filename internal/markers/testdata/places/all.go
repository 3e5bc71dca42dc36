// +versionName=a1

// +versionName=a2

// Package x has markers everywhere. Their values are numbers, so that each can be told from all others.
// +versionName=a3
package x

// +versionName=b1

// +versionName=b2
import "fmt"

// +versionName=c1

// +versionName=c2
// +kubebuilder:title="c2"

// Grouped is a group of constants.
// +versionName=c3
const (
	// +versionName=c4

	// A is a constant.
	// +versionName=c5
	A = 1
	// +versionName=c6
)

// +versionName=d1
// +kubebuilder:title="d1"

// +versionName=d2
// +kubebuilder:title="d2"

// Single is a type.
// +kubebuilder:title="d3"
// +versionName=d3
type Single struct {
	// +kubebuilder:title="d4"

	// +kubebuilder:title="d5"

	// First is a field.
	// +kubebuilder:title="d6"
	First string
	// +kubebuilder:title="d7"

	// Second is a field.
	Second string

	Third, Fourth string // not a marker
	// +kubebuilder:title="d8"
	fmt.Stringer
	// +kubebuilder:title="d9"
	Inline struct {
		// +kubebuilder:title="d10"
		Inner string
		// +kubebuilder:title="d11"
	}
	// +kubebuilder:title="d12"
	Func func(a int) (b string)
	// +kubebuilder:title="d13"
}

// +kubebuilder:title="e1"

type (
	// +kubebuilder:title="e2"

	// +kubebuilder:title="e3"

	// InGroup is a type.
	// +kubebuilder:title="e4"
	InGroup int
	// +kubebuilder:title="e5"
	Other struct {
		// +kubebuilder:title="e6"
		Field string
	}
	// +kubebuilder:title="e7"
)

// +versionName=f1
// +kubebuilder:title="f1"

// Function does something.
// +versionName=f2
func Function(a int) {
	// +versionName=f3
	type local struct {
		// +versionName=f4
		Field string
	}
	fmt.Println(A) // nothing
	// +versionName=f5
}

// +versionName=g1
var v = func() {
	// +versionName=g2
}

// +kubebuilder:title="h1"

// Interface has methods.
type Interface interface {
	// +kubebuilder:title="h2"
	Method(a int)
}

// +kubebuilder:title="i1"
type Alias = Single

// +versionName=z1
// +kubebuilder:title="z1"

// +versionName=z2
