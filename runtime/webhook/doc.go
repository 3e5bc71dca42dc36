// Package webhook registers webhooks with a manager, in one statement per kind:
//
//	func (d *GuestbookDefaulter) SetupWithManager(m controller.Manager) error {
//		return webhook.For[*v1.Guestbook](m).WithDefaulter(d).WithValidator(v).Complete()
//	}
//
// It uses the paths of controller-gen's markers, such as /mutate-webapp-example-com-v1-guestbook,
// /validate-webapp-example-com-v1-guestbook and /convert. Packages admission and conversion document the guarantees for
// handlers, package server documents the limits of the server, and package manager its certificates.
package webhook
