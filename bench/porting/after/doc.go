// Package after contains each function of package before, ported to kctrl. Each function is a row of
// docs/from-controller-runtime.md.
package after
