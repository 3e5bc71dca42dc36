/*
Copyright 2026.
*/

// Package conversion turns the versions of kinds into each other. Of each kind one version is the hub; every other one has a
// file with two functions, from the hub and to it, and a test which shows that nothing is lost on the way.
package conversion
