// Package migrate moves an operator from controller-runtime to kctrl in two steps that can be repeated and undone.
//
// [Adopt] plans step one. In go.mod, it replaces controller-runtime with a module that has the same API and uses
// kctrl's runtime, and it copies this module and the runtime to third_party. Go code does not change. [Code] plans step
// two for single packages. It rewrites Go code to kctrl's own API where type information proves that the behavior stays
// the same. [Undo] plans to restore the files to their content before the latest step.
//
// Each step writes a record to .kctrl/migrate, from which Undo restores files byte for byte. Each function returns a
// plan, which writes all of its changes or none.
package migrate
