// Package migrate moves an operator on controller-runtime to kctrl in two steps that can be repeated and undone.
//
// [Adopt] plans step one: go.mod replaces controller-runtime by a module with the same API on kctrl's runtime, and both
// are copied to third_party. Go code does not change. [Code] plans step two for single packages: it rewrites Go code to
// kctrl's own API where types prove that the meaning stays. [Undo] plans the way back from the latest step.
//
// Each step leaves a record in .kctrl/migrate, from which Undo restores files byte for byte. Nothing is written unless
// all of it can be: each function returns a plan.
package migrate
