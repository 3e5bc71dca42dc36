// Package webhook registers webhooks with a manager, with one statement per kind:
//
//	func (d *GuestbookDefaulter) SetupWithManager(m controller.Manager) error {
//		return webhook.For[*v1.Guestbook](m).WithDefaulter(d).WithValidator(v).Complete()
//	}
//
// The paths are those of controller-gen's markers: /mutate-webapp-example-com-v1-guestbook,
// /validate-webapp-example-com-v1-guestbook and /convert. Packages admission and conversion document the guarantees for
// handlers, package server the limits of the server, and package manager its certificates.
package webhook
