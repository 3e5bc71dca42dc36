/*
Copyright 2026.
*/

// Package webhook is where the webhooks of library are: what fills in and checks objects before the API server stores them.
package webhook
