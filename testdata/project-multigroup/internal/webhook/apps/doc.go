/*
Copyright 2026.
*/

// Package webhook has the admission webhooks of fleet-operator. They set defaults in objects and validate them before
// the API server stores them.
package webhook
