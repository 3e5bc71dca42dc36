// Package before contains code for controller-runtime. Each function is a row of docs/from-controller-runtime.md: its
// comment is the subject, and its body the code. The function of the same name in package after has the code for kctrl.
// The comment before the package clause of a file is the title of its table.
package before
