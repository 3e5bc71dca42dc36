/*
Copyright 2026.
*/

// Package controller is where the controllers of library are: for each kind a reconciler, which reads what a user wants
// and makes the world match it, and a test that runs it against an API server.
package controller
