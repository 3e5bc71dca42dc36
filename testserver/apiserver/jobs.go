package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// warnOfOrphans adds a warning to deletions of jobs.
func warnOfOrphans(_ *Server, r *registry, e *endpoint) { e.objects = jobStorage{r} }

// jobStorage warns clients that delete a Job without a propagation policy, because the pods of the Job then remain.
type jobStorage struct{ *registry }

func warnOfDeletion(ctx context.Context, options *metav1.DeleteOptions) {
	//lint:ignore SA1019 clients still send it
	if options != nil && options.PropagationPolicy == nil && options.OrphanDependents == nil {
		warning.AddWarning(ctx, "", "child pods are preserved by default when jobs are deleted; set "+
			"propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
	}
}

func (s jobStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	warnOfDeletion(ctx, options)
	return s.registry.Delete(ctx, name, validate, options)
}

func (s jobStorage) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions, list *internalversion.ListOptions) (runtime.Object, error) {
	warnOfDeletion(ctx, options)
	return s.registry.DeleteCollection(ctx, validate, options, list)
}
