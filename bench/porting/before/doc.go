// Package before is what authors write with controller-runtime. A function is a row of docs/from-controller-runtime.md: its
// comment is what the row is about, and its body the code; the function of that name in the package after has the other.
// The comment before the package clause of a file is the title of its table.
package before
