// Package porting tests three public operators that were ported from controller-runtime by docs/from-controller-runtime.md alone.
// The packages before and after are the code of its tables.
package porting
