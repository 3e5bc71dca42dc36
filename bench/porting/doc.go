// Package porting tests three public operators that were ported from controller-runtime with
// docs/from-controller-runtime.md. The packages before and after contain the code of that page's tables.
package porting
