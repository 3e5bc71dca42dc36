/*
Copyright 2026.
*/

// Package api is a separate Go module with the API packages of library: importing them adds no other requirement of
// the operator.
package api
