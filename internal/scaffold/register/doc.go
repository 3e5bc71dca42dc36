// Package register finds the program that starts the manager of a project, and plans its setup calls: [Registration]
// collects them, and API packages register their kinds. It edits at most one argument in main.go.
package register
