// Package register finds the program that starts the manager of a project, and plans that it runs what the features
// of the project set up: [Registration] collects that, and API packages register their kinds. It never edits more of
// main.go than one argument.
package register
