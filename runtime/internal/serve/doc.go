// Package serve has the handlers of a manager other than webhooks: probes, pages for authorized clients, and profiles.
// The manager has the servers and their addresses.
package serve
