package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/apimachinery"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

const (
	// defaultAPIServerTimeout is the default timeout of the wait for the API server.
	defaultAPIServerTimeout = 10 * time.Second
	// readyEvery is the interval between requests.
	readyEvery = time.Second
	// readyTimeout is the timeout of one request.
	readyTimeout = 5 * time.Second
	// checksAtOnce is the number of controllers that are checked concurrently.
	checksAtOnce = 8
)

// WaitForAPIServer waits until the API server of m reports at /readyz that it is ready, or denies access to /readyz.
// After timeout, it fails with the last answer.
func WaitForAPIServer(ctx context.Context, m *manager.Manager, timeout time.Duration) error {
	url, _, err := rest.DefaultServerUrlFor(m.Config())
	if err != nil {
		return fmt.Errorf("wait for the API server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for last := error(nil); ; {
		err := askReady(ctx, m.HTTPClient(), url.JoinPath("readyz").String())
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err // report the last answer instead of the timeout
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("the API server at %s is not ready after %s: %w", url, timeout, last)
		}
		return context.Cause(ctx)
	}
}

func askReady(ctx context.Context, c *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return nil
	}
	return fmt.Errorf("%s: %s", resp.Status, strings.Join(strings.Fields(string(text)), " "))
}

// Preflight is how a [Registry] reacts to missing kinds and permissions.
type Preflight string

// Values of Preflight.
const (
	// PreflightWarn logs the missing kinds and permissions. The controllers start, and work as soon as those exist.
	PreflightWarn Preflight = "warn"
	// PreflightFail ends the program before the controllers are built.
	PreflightFail Preflight = "fail"
	// PreflightOff skips the checks.
	PreflightOff Preflight = "off"
)

var preflights = []Preflight{PreflightWarn, PreflightFail, PreflightOff}

// missing is one line about an unmet need of a controller.
type missing struct {
	Controller string `json:"controller"`
	Text       string `json:"missing"`
	Optional   bool   `json:"optional,omitempty"`
}

// preflight returns the unmet needs of the controllers, in their order.
func (l *launch) preflight(ctx context.Context, all []Descriptor) []missing {
	found := make([][]missing, len(all))
	free := make(chan struct{}, checksAtOnce)
	var checks sync.WaitGroup
	for i, d := range all {
		free <- struct{}{}
		checks.Go(func() {
			defer func() { <-free }()
			found[i] = l.check(ctx, d)
		})
	}
	checks.Wait()
	return slices.Concat(found...)
}

func (l *launch) check(ctx context.Context, d Descriptor) (all []missing) {
	if len(d.Needs) == 0 {
		return nil
	}
	live, err := l.clientOf(d.Name)
	if err != nil {
		return []missing{{d.Name, err.Error(), false}}
	}
	for _, need := range d.Needs {
		for _, text := range l.lacks(ctx, live, need) {
			all = append(all, missing{d.Name, text, need.Optional})
		}
	}
	return all
}

// lacks returns the reasons why a need is not met, one line each.
func (l *launch) lacks(ctx context.Context, live *client.REST, need Need) []string {
	kind := need.Kind
	var versions []string
	if kind.Version != "" {
		versions = []string{kind.Version}
	}
	mapping, err := apimachinery.RESTMapping(ctx, l.manager.RESTMapper(), kind.GroupKind(), versions...)
	switch {
	case meta.IsNoMatchError(err):
		return []string{fmt.Sprintf("the API server does not serve kind %s of %s; its CRD is not installed",
			kind.Kind, cmp.Or(strings.Trim(kind.Group+"/"+kind.Version, "/"), "the core group"))}
	case err != nil:
		return []string{fmt.Sprintf("cannot ask for kind %s: %v", kind.Kind, err)}
	}
	namespaces := []string{need.Namespace}
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		namespaces = []string{""}
	case need.Namespace == "" && len(l.manager.Namespaces()) > 0:
		namespaces = l.manager.Namespaces()
	}
	var lines []string
	for _, namespace := range namespaces {
		r := right{mapping.Resource.Group, mapping.Resource.Resource, need.Subresource, namespace}
		var refused, refusedAccount []string
		for _, verb := range need.Verbs {
			asks := live
			if verb == "list" || verb == "watch" {
				asks = l.manager.Live() // the cache sends these requests, for all controllers
			}
			allowed, err := r.review(ctx, asks, verb)
			switch {
			case err != nil:
				return append(lines, fmt.Sprintf("cannot ask for the right to %s %s: %v", verb, r.path(), err))
			case allowed:
			case asks == live && l.registry.opts.UseServiceAccountCredentials:
				refusedAccount = append(refusedAccount, verb)
			default:
				refused = append(refused, verb)
			}
		}
		if len(refused) > 0 {
			lines = append(lines, fmt.Sprintf("may not %s; the marker %s would allow it", r.text(refused), r.marker(refused)))
		}
		if len(refusedAccount) > 0 {
			lines = append(lines, fmt.Sprintf("may not %s; a role that is bound to its service account would allow it",
				r.text(refusedAccount)))
		}
	}
	return lines
}

// right is a resource for which permissions are required.
type right struct{ group, resource, subresource, namespace string }

// path returns the resource in RBAC notation.
func (r right) path() string { return strings.Trim(r.resource+"/"+r.subresource, "/") }

// text describes the permissions for verbs.
func (r right) text(verbs []string) string {
	what := strings.Join(verbs, ", ") + " " + r.path()
	if r.namespace == "" {
		return what
	}
	return what + " in namespace " + r.namespace
}

// marker returns the RBAC marker that grants verbs.
func (r right) marker(verbs []string) string {
	namespace := ""
	if r.namespace != "" {
		namespace = "namespace=" + r.namespace + ","
	}
	return fmt.Sprintf("// +kubebuilder:rbac:groups=%s,%sresources=%s,verbs=%s", cmp.Or(r.group, `""`), namespace,
		r.path(), strings.Join(verbs, ";"))
}

// review checks whether the user of a client has the permission.
func (r right) review(ctx context.Context, live *client.REST, verb string) (allowed bool, err error) {
	attributes := map[string]any{"group": r.group, "resource": r.resource, "verb": verb}
	for name, value := range map[string]string{"subresource": r.subresource, "namespace": r.namespace} {
		if value != "" {
			attributes[name] = value
		}
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}
	if err := live.Create(ctx, review); err != nil {
		return false, err
	}
	allowed, _, _ = unstructured.NestedBool(review.Object, "status", "allowed")
	return allowed, nil
}
