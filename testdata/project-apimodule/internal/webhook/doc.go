/*
Copyright 2026.
*/

// Package webhook has the admission webhooks of library. They set defaults in objects and validate them before
// the API server stores them.
package webhook
