// Package serve has what a manager serves beside webhooks: probes, pages for authorized clients, and profiles. The manager
// has the servers and their addresses.
package serve
