/*
Copyright 2026.
*/

// Package controller has the controllers of library: for each kind a reconciler, which makes the actual state match the
// spec, and a test that runs it against an API server.
package controller
