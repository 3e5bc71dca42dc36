package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// discoveryFormats request all resources of all groups in one response. Servers older than 1.30 support only the second
// format.
const discoveryFormats = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// Resource is one version of a resource, as described by the server.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	names      []string // plural, singular and short names
	categories []string
	listable   bool
}

// singular returns the kind with its group, such as "guestbook.webapp.example.com".
func (r Resource) singular() string { return withGroup(strings.ToLower(r.Kind), r.Group) }

func (r Resource) plural() string { return withGroup(r.Resource, r.Group) }

func withGroup(name, group string) string {
	if group == "" {
		return name
	}
	return name + "." + group
}

// path returns the URL path of the resource in a namespace. The empty namespace means all namespaces.
func (r Resource) path(namespace string) string {
	root := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		root = "/api/" + r.Version
	}
	if r.Namespaced && namespace != "" {
		root += "/namespaces/" + namespace
	}
	return root + "/" + r.Resource
}

// discover reads the resources of the server, in the server's order: preferred groups and versions first.
func (c *Client) discover(ctx context.Context) error {
	c.resources = nil
	for _, root := range []string{"/api", "/apis"} {
		content, err := ask(ctx, c.rest.Get().AbsPath(root).SetHeader("Accept", discoveryFormats))
		if err != nil {
			return fmt.Errorf("discover the resources of the server: %w", err)
		}
		var groups discovery.APIGroupDiscoveryList
		if err := json.Unmarshal(content, &groups); err != nil || groups.Kind != "APIGroupDiscoveryList" {
			return diagnostic.Because(err,
				"the server does not support aggregated discovery, which Kubernetes 1.27 and newer have",
				"use kubectl with this server")
		}
		for _, group := range groups.Items {
			for _, version := range group.Versions {
				c.addResources(group.Name, version)
			}
		}
	}
	return nil
}

func (c *Client) addResources(group string, version discovery.APIVersionDiscovery) {
	for _, r := range version.Resources {
		if r.ResponseKind == nil || r.ResponseKind.Kind == "" {
			continue // only subresources
		}
		c.resources = append(c.resources, Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version.Version, Resource: r.Resource},
			Kind:                 r.ResponseKind.Kind,
			Namespaced:           r.Scope == discovery.ScopeNamespace,
			names: append([]string{r.Resource, r.SingularResource, strings.ToLower(r.ResponseKind.Kind)},
				r.ShortNames...),
			categories: r.Categories,
			listable:   slices.Contains(r.Verbs, "list"),
		})
	}
}

// find returns the resources that search finds. If there are none, it repeats the discovery, because a CRD may be new.
func (c *Client) find(ctx context.Context, search func() []Resource) ([]Resource, error) {
	if c.resources != nil {
		if found := search(); len(found) > 0 {
			return found, nil
		}
	}
	if err := c.discover(ctx); err != nil {
		return nil, err
	}
	return search(), nil
}

// noKindError reports that the server does not serve a kind, for example because its CRD is missing.
type noKindError struct{ kind schema.GroupVersionKind }

func (e *noKindError) Error() string {
	return fmt.Sprintf("the server has no kind %q in %q", e.kind.Kind, e.kind.GroupVersion())
}

// resourceOf returns the resource of a kind. If the server does not serve the kind, the error is a noKindError.
func (c *Client) resourceOf(ctx context.Context, kind schema.GroupVersionKind) (Resource, error) {
	found, err := c.find(ctx, func() []Resource {
		i := slices.IndexFunc(c.resources, func(r Resource) bool {
			return r.GroupVersion() == kind.GroupVersion() && r.Kind == kind.Kind
		})
		if i < 0 {
			return nil
		}
		return c.resources[i : i+1]
	})
	if err != nil {
		return Resource{}, err
	}
	if len(found) == 0 {
		return Resource{}, &noKindError{kind}
	}
	return found[0], nil
}

// named returns the resource with a name. The name is a plural, singular or short name, or a kind, optionally followed
// by the group, or by the version and the group. If no resource matches, named returns all resources of the category
// with this name.
func (c *Client) named(ctx context.Context, name string) ([]Resource, error) {
	name = strings.ToLower(name)
	found, err := c.find(ctx, func() []Resource {
		if one := c.matches(name); len(one) > 0 {
			return one
		}
		return c.category(name)
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, diagnostic.New(fmt.Sprintf("the server has no resource %q", name),
			"use a name such as guestbooks or guestbooks.webapp.example.com, and apply its CRD first")
	}
	if len(found) == 1 || found[0].Group == "" || slices.Contains(found[0].categories, name) {
		return found, nil
	}
	return nil, severalGroups(name, found)
}

// matches returns the resources with a name. If the core group has such a resource, matches returns only that one;
// otherwise, it returns one resource for each group.
func (c *Client) matches(name string) []Resource {
	short, rest, _ := strings.Cut(name, ".")
	var found []Resource
	for _, r := range c.resources {
		inGroup := rest == "" || rest == r.Group || rest == withGroup(r.Version, r.Group)
		known := slices.ContainsFunc(found, func(other Resource) bool { return other.Group == r.Group })
		if inGroup && !known && slices.Contains(r.names, short) {
			found = append(found, r)
		}
	}
	if len(found) > 1 && found[0].Group == "" {
		return found[:1] // prefer the core group, because events.k8s.io also has events
	}
	return found
}

func (c *Client) category(name string) []Resource {
	var found []Resource
	for _, r := range c.resources {
		known := slices.ContainsFunc(found, func(other Resource) bool { return other.plural() == r.plural() })
		if !known && r.listable && slices.Contains(r.categories, name) {
			found = append(found, r)
		}
	}
	return found
}

// severalGroups returns the error for an ambiguous name, which resources in several groups have.
func severalGroups(name string, found []Resource) error {
	var names []string
	for _, r := range found {
		names = append(names, r.plural())
	}
	return diagnostic.New(fmt.Sprintf("several API groups have a resource %q", name),
		"use one of them: "+strings.Join(names, ", "))
}
