// Package kubectl is what the env commands need of kubectl: apply, get and delete, with kubectl's names, columns and
// field manager. It works on any API server of Kubernetes 1.27 or newer.
//
// The server says which resources there are (aggregated discovery) and how they look as a table; nothing here knows a
// kind. [Connect] returns a [Client], whose methods each do what one command does.
package kubectl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// fieldManager is that of kubectl apply --server-side. What kctrl has applied, kubectl may change without a conflict,
// and each removes the fields that left the other's manifests.
const fieldManager = "kubectl"

// DefaultTimeout is how long a wait takes at most that nobody has given a limit.
const DefaultTimeout = time.Minute

const pollInterval = 100 * time.Millisecond

// Client applies, deletes and shows objects on one API server. It is not safe for concurrent use.
type Client struct {
	// Namespace is that of namespaced objects which name none.
	Namespace string
	// Timeout bounds each wait: for a CRD to be served, a condition to be true, a deleted object to be gone. Zero is
	// no bound.
	Timeout time.Duration
	// Report receives what became of an object, such as "created". It may be nil.
	Report func(object, what string)
	// Notice receives what is not a result: warnings of the server, and what a wait waits for. It may be nil.
	Notice func(what string)

	config    *rest.Config // as the kubeconfig has it
	rest      rest.Interface
	resources []Resource // as the server has said last; nil is not asked yet
}

// Connect returns a client of the server that a kubeconfig points at. Nothing is asked of the server yet.
func Connect(kubeconfig string) (*Client, error) {
	config, err := LoadConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	c := &Client{Namespace: metav1.NamespaceDefault, Timeout: DefaultTimeout, config: rest.CopyConfig(config)}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS = -1
	config.WarningHandler = warnings{c}
	c.rest, err = rest.UnversionedRESTClientFor(config)
	return c, err
}

// LoadConfig reads the way to a server from a kubeconfig file. Errors are *diagnostic.Error.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	// Without an explicit file clientcmd looks elsewhere, and warns on standard error.
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, &diagnostic.Error{Message: "kubeconfig: " + diagnostic.OneLine(err.Error()), Hint: "name a kubeconfig file that has a current context", Cause: err}
	}
	return config, nil
}

// warnings passes on what the server warns of.
type warnings struct{ to *Client }

// HandleWarningHeader passes on a warning, which has the code 299.
func (w warnings) HandleWarningHeader(code int, _ string, text string) {
	if code == 299 && text != "" {
		w.to.notice("warning: " + text)
	}
}

func (c *Client) report(object, what string) {
	if c.Report != nil {
		c.Report(object, what)
	}
}

func (c *Client) notice(what string) {
	if c.Notice != nil {
		c.Notice(what)
	}
}

// reference names an object on the server.
type reference struct {
	resource        Resource
	namespace, name string
}

// String is how users know the object, such as "guestbook.webapp.example.com/sample".
func (r reference) String() string { return r.resource.singular() + "/" + r.name }

func (r reference) path() string { return r.resource.path(r.namespace) + "/" + r.name }

// checkSegment refuses what no object or namespace is called, and would name another thing in a path: of "." all objects of the
// resource, and of ".." the namespace.
func checkSegment(name string) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("%s is no name of an object: it %s", diagnostic.Quote(name), strings.Join(problems, ", "))
	}
	return nil
}

// CheckNamespace refuses what no namespace is called. The empty one is refused too: it would be all of them.
func CheckNamespace(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%s is no name of a namespace", diagnostic.Quote(name))
	}
	return nil
}

// object is what the server has of an object that exists.
func (c *Client) object(ctx context.Context, r reference) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	content, err := ask(ctx, c.rest.Get().AbsPath(r.path()))
	if err != nil {
		return nil, err
	}
	return o, o.UnmarshalJSON(content)
}

// ask returns the body of an answer, or the error that the server describes there.
func ask(ctx context.Context, r *rest.Request) ([]byte, error) {
	result := r.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// wait asks done until it says true or fails, or the timeout has passed.
func (c *Client) wait(ctx context.Context, done func(context.Context) (bool, error)) error {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		bounded, cancel = context.WithTimeoutCause(ctx, c.Timeout, &timeoutError{c.Timeout})
	}
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ok, err := done(bounded)
		switch {
		case ok:
			return nil
		case bounded.Err() != nil:
			return context.Cause(bounded) // whatever a call that was cut short said
		case err != nil:
			return err
		}
		select {
		case <-bounded.Done():
			return context.Cause(bounded)
		case <-tick.C:
		}
	}
}

// timeoutError says that a wait took longer than it may.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("waited %s", e.after) }

func timedOut(err error) bool {
	_, ok := errors.AsType[*timeoutError](err)
	return ok
}
