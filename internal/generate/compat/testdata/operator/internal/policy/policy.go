// Package policy has a webhook too.
// +kubebuilder:webhookconfiguration:mutating=false,name=the-policies
package policy

// +kubebuilder:webhook:path=/policy,mutating=false,failurePolicy=fail,sideEffects=None,groups=core,resources=pods,verbs=connect,versions=v1,name=apolicy.kb.io,admissionReviewVersions=v1,serviceName=policies,serviceNamespace=system,servicePort=8443,reinvocationPolicy=Never
// +kubebuilder:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=update,versions=v1,name=bpolicy.kb.io,admissionReviewVersions=v1,url="https://example.com/mutate",reinvocationPolicy=IfNeeded,patch=`{"namespaceSelector":{"matchLabels":{"a":"b"}}}`

// Policy is one.
type Policy struct{}
