// Package serve provides the handlers of a manager other than webhooks: probes, pages for authorized clients, and
// profiles. The servers and their addresses belong to the manager.
package serve
