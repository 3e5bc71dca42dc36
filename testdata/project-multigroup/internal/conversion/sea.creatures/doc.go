/*
Copyright 2026.
*/

// Package conversion converts objects between the versions of a kind. One version of each kind is the hub. Every other
// version has a file with two functions, from and to the hub, and a test that no field is lost.
package conversion
