/*
Copyright 2026.
*/

// Package api is a Go module of its own, with the API packages of library below it: who imports these requires nothing else of the operator.
package api
