package garbagecollector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// discoveryFormats requests all resources of all groups at once. Servers older than 1.30 support only the second
// format.
const discoveryFormats = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// kinds are the kinds of an API server.
type kinds struct {
	// kinds are the kinds that can be deleted, listed and watched, each in the server's preferred version.
	kinds map[schema.GroupResource]schema.GroupVersionKind
	// unknown are versions whose resources the server currently cannot list.
	unknown map[schema.GroupVersion]bool
}

// discoveryClient returns a client for deletable.
func discoveryClient(config *rest.Config, httpClient *http.Client) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	config.QPS = -1
	return rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
}

// deletable returns the kinds of collectable objects.
func deletable(ctx context.Context, c rest.Interface) (*kinds, error) {
	found := &kinds{kinds: map[schema.GroupResource]schema.GroupVersionKind{}, unknown: map[schema.GroupVersion]bool{}}
	for _, root := range []string{"/api", "/apis"} {
		content, err := c.Get().AbsPath(root).SetHeader("Accept", discoveryFormats).DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask for %s: %w", root, err)
		}
		var groups apidiscovery.APIGroupDiscoveryList
		if err := json.Unmarshal(content, &groups); err != nil {
			return nil, fmt.Errorf("read %s: %w", root, err)
		}
		if groups.Kind != "APIGroupDiscoveryList" {
			return nil, errors.New("the API server does not list its resources as Kubernetes 1.27 and newer do")
		}
		for _, group := range groups.Items {
			found.add(group)
		}
	}
	return found, nil
}

// add adds the resources of a group, whose versions are in order of preference.
func (k *kinds) add(group apidiscovery.APIGroupDiscovery) {
	preferred := map[string]bool{}
	for _, version := range group.Versions {
		gv := schema.GroupVersion{Group: group.Name, Version: version.Version}
		if version.Freshness == apidiscovery.DiscoveryFreshnessStale {
			k.unknown[gv] = true
		}
		for _, r := range version.Resources {
			if preferred[r.Resource] || r.ResponseKind == nil || r.ResponseKind.Kind == "" {
				continue
			}
			preferred[r.Resource] = true
			if slices.Contains(r.Verbs, "delete") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				k.kinds[schema.GroupResource{Group: group.Name, Resource: r.Resource}] = gv.WithKind(r.ResponseKind.Kind)
			}
		}
	}
}
