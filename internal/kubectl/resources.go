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

// discoveryFormats ask for all resources of all groups at once. Servers older than 1.30 know the second.
const discoveryFormats = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// Resource is one resource in one version, as the server describes it.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	names      []string // the plural, the singular and short ones
	categories []string
	listable   bool
}

// singular names the kind with its group, such as "guestbook.webapp.example.com".
func (r Resource) singular() string { return withGroup(strings.ToLower(r.Kind), r.Group) }

func (r Resource) plural() string { return withGroup(r.Resource, r.Group) }

func withGroup(name, group string) string {
	if group == "" {
		return name
	}
	return name + "." + group
}

// path is where the resource's objects in a namespace are served; the empty namespace is all of them.
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

// discover asks the server for its resources, in its order: preferred groups and versions first.
func (c *Client) discover(ctx context.Context) error {
	c.resources = nil
	for _, root := range []string{"/api", "/apis"} {
		content, err := ask(ctx, c.rest.Get().AbsPath(root).SetHeader("Accept", discoveryFormats))
		if err != nil {
			return fmt.Errorf("ask the server for its resources: %w", err)
		}
		var groups discovery.APIGroupDiscoveryList
		if err := json.Unmarshal(content, &groups); err != nil || groups.Kind != "APIGroupDiscoveryList" {
			return &diagnostic.Error{
				Message: "the server does not list its resources the way Kubernetes 1.27 and newer do",
				Hint:    "use kubectl with this server",
				Cause:   err,
			}
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
			continue // it has subresources only
		}
		c.resources = append(c.resources, Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version.Version, Resource: r.Resource},
			Kind:                 r.ResponseKind.Kind,
			Namespaced:           r.Scope == discovery.ScopeNamespace,
			names:                append([]string{r.Resource, r.SingularResource, strings.ToLower(r.ResponseKind.Kind)}, r.ShortNames...),
			categories:           r.Categories,
			listable:             slices.Contains(r.Verbs, "list"),
		})
	}
}

// find returns the first of what the server serves that matches. The server is asked again when nothing does: a CRD
// may have come.
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

// noKindError says that the server does not serve a kind, such as that of a CRD which nobody has applied.
type noKindError struct{ kind schema.GroupVersionKind }

func (e *noKindError) Error() string {
	return fmt.Sprintf("the server has no kind %q in %q", e.kind.Kind, e.kind.GroupVersion())
}

// resourceOf returns the resource of a kind, or a noKindError.
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

// named returns the resource that a user names by plural, singular, short name or kind, alone or with group, or with
// version and group; or else all of a category.
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
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("the server has no resource %q", name),
			Hint:    "name it as in guestbooks or guestbooks.webapp.example.com, and apply its CRD first",
		}
	}
	if len(found) == 1 || found[0].Group == "" || slices.Contains(found[0].categories, name) {
		return found, nil
	}
	return nil, severalGroups(name, found)
}

// matches returns what a name may mean: a resource of the core group alone, or else one for each group.
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
		return found[:1] // such as events, which are in events.k8s.io too
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

// severalGroups says which groups a resource that was named without one can be of.
func severalGroups(name string, found []Resource) error {
	var names []string
	for _, r := range found {
		names = append(names, r.plural())
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("several API groups have a resource %q", name),
		Hint:    "name one of them: " + strings.Join(names, ", "),
	}
}
