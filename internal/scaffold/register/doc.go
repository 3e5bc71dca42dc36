// Package register finds the program that starts the manager of a project, and plans the generated code that sets up
// the manager and registers kinds. [Registration] collects the setup calls. The package edits at most one argument in
// main.go.
package register
