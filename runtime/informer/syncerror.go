package informer

import "fmt"

// SyncError says why an informer is not in step with the API server. The cause is reached through Unwrap, so that
// apierrors.IsForbidden and meta.IsNoMatchError work on it.
type SyncError struct {
	// Verb is the refused verb: "list" or "watch".
	Verb string
	// Resource is the name of the informer, which is by convention that of the resource, such as
	// "guestbooks.webapp.example.com".
	Resource string
	// Namespace is where that is, if the informer is of one namespace.
	Namespace string
	// Err is the cause.
	Err error
}

// Error names the verb, the resource, the namespace and the cause.
func (e *SyncError) Error() string {
	if e.Namespace != "" {
		return fmt.Sprintf("%s %s in namespace %s: %v", e.Verb, e.Resource, e.Namespace, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Verb, e.Resource, e.Err)
}

// Unwrap returns the cause.
func (e *SyncError) Unwrap() error { return e.Err }
