// Package after is what becomes of each function of the package before when it is ported to kctrl. A function is a row of
// docs/from-controller-runtime.md.
package after
