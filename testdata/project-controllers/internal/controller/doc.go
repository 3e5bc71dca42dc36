/*
Copyright 2026.
*/

// Package controller has the controllers of website: for each kind a reconciler, which makes the actual state match the
// spec, and a test that runs it against an API server.
package controller
