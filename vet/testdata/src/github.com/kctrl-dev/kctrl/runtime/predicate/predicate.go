// Package predicate is a stub.
package predicate

import "github.com/kctrl-dev/kctrl/runtime/client"

type Predicate func(client.Object) bool

func SpecChanged() Predicate { return nil }

func LabelsChanged() Predicate { return nil }

func Object[T client.Object](accept func(T) bool) Predicate { return nil }
