package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Selection selects the objects of a command: the named objects of a resource, or all objects that match the selectors.
type Selection struct {
	// Resources are names of resources, such as "guestbooks" or "deploy,svc". Never empty.
	Resources []string
	// Names are the names of objects, and require a single resource. Empty means all objects.
	Names []string
	// Labels and Fields are selectors in text form.
	Labels, Fields string
	// AllNamespaces selects objects in all namespaces instead of the client's namespace.
	AllNamespaces bool
}

// Select parses the arguments of a command: RESOURCE[,RESOURCE...] [NAME...], or one RESOURCE/NAME.
func Select(args []string) (Selection, error) {
	usage := func(message string) (Selection, error) {
		return Selection{}, diagnostic.Usage(message,
			"use guestbooks, guestbooks sample, guestbooks/sample or deployments,services")
	}
	if len(args) == 0 || slices.Contains(args, "") {
		return usage("want a resource")
	}
	if resource, name, slash := strings.Cut(args[0], "/"); slash {
		if len(args) > 1 || resource == "" || name == "" || strings.ContainsAny(args[0], ",") || strings.Contains(name, "/") {
			return usage(fmt.Sprintf("want one RESOURCE/NAME, got %q", strings.Join(args, " ")))
		}
		args = []string{resource, name}
	}
	s := Selection{Resources: strings.Split(args[0], ","), Names: args[1:]}
	switch {
	case slices.Contains(s.Resources, ""):
		return usage(fmt.Sprintf("%q has an empty name between its commas", args[0]))
	case len(s.Resources) > 1 && len(s.Names) > 0:
		return usage("names require exactly one resource")
	}
	for _, name := range s.Names {
		if checkSegment(name) != nil {
			return usage(fmt.Sprintf("%q is not a valid object name", name))
		}
	}
	return s, nil
}

// Validate returns an error for combinations of options that cannot select an object.
func (s Selection) Validate() error {
	switch {
	case len(s.Names) > 0 && s.Labels+s.Fields != "":
		return diagnostic.Usage("names and selectors cannot be combined", "omit the names, or -l and --field-selector")
	case len(s.Names) > 0 && s.AllNamespaces:
		return diagnostic.Usage("a name requires one namespace", "omit -A, and choose the namespace with -n")
	}
	return nil
}

func (c *Client) resolve(ctx context.Context, s Selection) ([]Resource, error) {
	var all []Resource
	for _, name := range s.Resources {
		found, err := c.named(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// namespace returns the namespace in which s selects objects of a resource. It is empty for cluster-scoped resources
// and for all namespaces.
func (c *Client) namespace(r Resource, s Selection) string {
	if !r.Namespaced || s.AllNamespaces {
		return ""
	}
	return c.Namespace
}

// selected returns references to the selected objects. It does not check whether named objects exist.
func (c *Client) selected(ctx context.Context, s Selection) ([]reference, error) {
	resources, err := c.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []reference
	for _, resource := range resources {
		for _, name := range s.Names {
			all = append(all, reference{resource, c.namespace(resource, s), name})
		}
		if len(s.Names) > 0 {
			continue
		}
		err := c.list(ctx, resource, s, func(o *unstructured.Unstructured) {
			all = append(all, reference{resource, o.GetNamespace(), o.GetName()})
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// GetOptions are the options of Get.
type GetOptions struct {
	// Output is one of [Outputs]. Empty means a table.
	Output string
	// Watch also prints each change until the context ends.
	Watch bool
	// ManagedFields keeps the managed fields of objects in YAML and JSON.
	ManagedFields bool
}

// Outputs are the output formats: a table with the default columns of the kind, a table with all columns, the objects
// in YAML or JSON, or their names.
var Outputs = []string{"table", "wide", "yaml", "json", "name"}

// Get prints the selected objects. If no object matches, it sends a notice. A missing named object is an error.
func (c *Client) Get(ctx context.Context, out io.Writer, s Selection, o GetOptions) error {
	resources, err := c.resolve(ctx, s)
	if err != nil {
		return err
	}
	if o.Watch && len(resources) > 1 {
		return diagnostic.Usage("only one resource can be watched", "omit -w, or name one resource")
	}
	if o.Watch && len(s.Names) > 1 {
		return &diagnostic.Error{Message: "only one object, or all objects of a resource, can be watched",
			Hint: "omit -w, or name one object", Class: diagnostic.ErrUsage}
	}
	p := &printer{out: out, o: o, several: len(resources) > 1, single: len(s.Names) == 1, spread: s.AllNamespaces}
	var errs []error
	for _, resource := range resources {
		if len(resources) > 1 && !resource.listable && len(s.Names) == 0 {
			continue
		}
		p.begin(resource)
		errs = append(errs, c.get(ctx, p, resource, s, o))
	}
	errs = append(errs, p.end())
	if p.several && p.tables == 0 && p.printed == 0 {
		c.notice("no objects of these resources found")
	}
	return errors.Join(errs...)
}

// get prints the selected objects of one resource.
func (c *Client) get(ctx context.Context, p *printer, resource Resource, s Selection, o GetOptions) error {
	q := query{client: c, resource: resource, namespace: c.namespace(resource, s), selection: s, accept: p.accept()}
	if o.Watch {
		return q.watch(ctx, p)
	}
	if len(s.Names) == 0 {
		_, err := q.list(ctx, p.page)
		if err == nil && p.printed == 0 && !p.several {
			c.notice(q.none())
		}
		return err
	}
	var errs []error
	for _, name := range s.Names {
		page, err := q.ask(ctx, q.request().AbsPath(reference{resource, q.namespace, name}.path()))
		if err == nil {
			err = p.page(page)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// These are the accepted formats of responses: a table whose rows contain the metadata of objects, or the objects.
const (
	objectFormat = "application/json"
	tableFormat  = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
)

const pageSize = "500"

// query requests objects of one resource.
type query struct {
	client    *Client
	resource  Resource
	namespace string
	selection Selection
	accept    string
}

func (q *query) request() *rest.Request { return q.client.rest.Get().SetHeader("Accept", q.accept) }

// objects returns a request for all selected objects. It selects a single name with a field selector, so that the
// object can be watched.
func (q *query) objects(more url.Values) *rest.Request {
	r := q.request().AbsPath(q.resource.path(q.namespace))
	fields := q.selection.Fields
	if len(q.selection.Names) == 1 {
		fields = "metadata.name=" + q.selection.Names[0]
	}
	for name, value := range map[string]string{"labelSelector": q.selection.Labels, "fieldSelector": fields} {
		if value != "" {
			r = r.Param(name, value)
		}
	}
	for name, values := range more {
		r = r.Param(name, values[0])
	}
	return r
}

func (q *query) none() string {
	switch {
	case !q.resource.Namespaced:
		return "no " + q.resource.plural()
	case q.namespace == "":
		return "no " + q.resource.plural() + " in any namespace"
	}
	return "no " + q.resource.plural() + " in namespace " + q.namespace
}

// answer is a response with a list, a table or one object. Not all servers can send a table.
type answer struct {
	Kind     string
	Metadata struct{ ResourceVersion, Continue string }
	// These fields are set for a table.
	ColumnDefinitions []columnDefinition
	Rows              []row
	// Items is set for a list. A single object becomes a list with one item.
	Items []unstructured.Unstructured
}

type columnDefinition struct {
	Name     string
	Priority int
}

type row struct {
	Cells  []any
	Object struct{ Metadata rowMetadata }
}

type rowMetadata struct{ Name, Namespace string }

func (q *query) ask(ctx context.Context, r *rest.Request) (*answer, error) {
	content, err := ask(ctx, r)
	if err != nil {
		return nil, err
	}
	return parseAnswer(content)
}

func parseAnswer(content []byte) (*answer, error) {
	a := &answer{}
	var form struct {
		Kind  string
		Items *[]json.RawMessage
	}
	if err := json.Unmarshal(content, &form); err != nil {
		return nil, fmt.Errorf("response of the server: %w", err)
	}
	if form.Kind != "Table" && form.Items == nil {
		o := unstructured.Unstructured{}
		err := o.UnmarshalJSON(content)
		a.Kind, a.Items = o.GetKind(), []unstructured.Unstructured{o}
		a.Metadata.ResourceVersion = o.GetResourceVersion()
		return a, err
	}
	if form.Kind != "Table" {
		list := unstructured.UnstructuredList{}
		err := list.UnmarshalJSON(content)
		a.Kind, a.Items = list.GetKind(), list.Items
		a.Metadata.ResourceVersion, a.Metadata.Continue = list.GetResourceVersion(), list.GetContinue()
		return a, err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // print a million as 1000000, not as 1e+06
	return a, decoder.Decode(a)
}

// list calls page for each page of the list, and returns the resource version of the last page.
func (q *query) list(ctx context.Context, page func(*answer) error) (resourceVersion string, err error) {
	more := url.Values{"limit": {pageSize}}
	for {
		a, err := q.ask(ctx, q.objects(more))
		if err != nil {
			return "", err
		}
		if err := page(a); err != nil {
			return "", err
		}
		if a.Metadata.Continue == "" {
			return a.Metadata.ResourceVersion, nil
		}
		more.Set("continue", a.Metadata.Continue)
	}
}

// watch prints the existing objects, and then each change. If the watch expires, it lists the objects again.
func (q *query) watch(ctx context.Context, p *printer) error {
	for {
		from, err := q.list(ctx, p.page)
		for err == nil {
			from, err = q.follow(ctx, p, from)
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return err
		}
	}
}

// follow prints changes until the server ends the watch, and returns the last resource version.
func (q *query) follow(ctx context.Context, p *printer, from string) (string, error) {
	more := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {from}}
	body, err := q.objects(more).Stream(ctx)
	if err != nil {
		return from, err
	}
	defer body.Close()
	for decoder := json.NewDecoder(body); ; {
		var event struct {
			Type   watch.EventType
			Object json.RawMessage
		}
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return from, ctx.Err()
		} else if err != nil {
			return from, errors.Join(ctx.Err(), err)
		}
		if event.Type == watch.Error {
			var status metav1.Status
			if err := json.Unmarshal(event.Object, &status); err != nil {
				return from, err
			}
			return from, apierrors.FromObject(&status)
		}
		change, err := parseAnswer(event.Object)
		if err != nil {
			return from, err
		}
		if version := change.Metadata.ResourceVersion; version != "" {
			from = version
		}
		if event.Type != watch.Bookmark {
			if err := p.page(change); err != nil {
				return from, err
			}
		}
	}
}
