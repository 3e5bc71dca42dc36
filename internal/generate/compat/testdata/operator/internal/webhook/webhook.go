// Package webhook decides what comes in.
package webhook

// +kubebuilder:webhook:path=/mutate-guestbook,mutating=true,failurePolicy=fail,sideEffects=None,groups=webapp.example.com,resources=guestbooks,verbs=create;update,versions=v1,name=mguestbook.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-guestbook,mutating=false,failurePolicy=ignore,sideEffects=NoneOnDryRun,groups=webapp.example.com,resources=guestbooks,verbs=create;update;delete,versions=v1,name=vguestbook.kb.io,admissionReviewVersions=v1;v1beta1,timeoutSeconds=7,matchPolicy=Exact

// Validator validates.
type Validator struct{}
