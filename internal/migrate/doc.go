// Package migrate makes a kctrl project of one of kubebuilder or operator-sdk: its Go code, PROJECT, go.mod, Makefile and the rest.
//
// Go code is rewritten by types and syntax. [Rules] is the list of what is known: a [Rule] says which nodes of the syntax it is
// about and what is written in their place. What it writes goes into the text of the file at the position of the node, so that all
// else stays as it was, comments and line breaks included. Most names are rows of the two tables in names.go; a rule of its own is
// for what changes its shape. A file of rules is about one area.
//
// What has no rule stays as it is, below a comment that says so, and is an entry of the [Report]. When all is rewritten the result
// is type-checked: what does not compile is in the report too.
//
// Of config/ only the optional parts move, and only where what is deployed stays the same to the byte.
//
// Everything is a plan: nothing is written unless all of it can be.
package migrate
