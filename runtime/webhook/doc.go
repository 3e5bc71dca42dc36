// Package webhook registers webhooks with a manager, one line for each kind:
//
//	func (d *GuestbookDefaulter) SetupWithManager(m controller.Manager) error {
//		return webhook.For[*v1.Guestbook](m).WithDefaulter(d).WithValidator(v).Complete()
//	}
//
// The paths are those that the markers of controller-gen have: /mutate-webapp-example-com-v1-guestbook,
// /validate-webapp-example-com-v1-guestbook and /convert. What the handlers may rely on is told in package admission and package
// conversion, what the server bounds in package server, and how API servers come to trust it in package certificate.
package webhook
