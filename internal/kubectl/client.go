// Package kubectl implements the parts of kubectl that the env commands use: apply, get and delete, with kubectl's
// names, columns and field manager. It works with any API server of Kubernetes 1.27 or newer.
//
// The server describes its resources (by aggregated discovery) and prints objects as tables, so the package needs no
// knowledge of individual kinds. [Connect] returns a [Client]; each of its methods implements one command.
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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// fieldManager is the field manager of kubectl apply --server-side. Because kctrl uses the same one, kctrl and kubectl
// can change each other's objects without conflicts, and each removes fields that are no longer in the manifests.
const fieldManager = "kubectl"

// DefaultTimeout is the default time limit of a wait.
const DefaultTimeout = time.Minute

const pollInterval = 100 * time.Millisecond

// Client applies, deletes and prints objects of one API server. It is not safe for concurrent use.
type Client struct {
	// Namespace is the namespace of namespaced objects that do not specify one.
	Namespace string
	// Timeout limits each wait, for a CRD to be served, for a condition, or for a deleted object to be gone. Zero means no
	// limit.
	Timeout time.Duration
	// Report receives the result for each object, such as "created". It may be nil.
	Report func(object, what string)
	// Notice receives other messages: warnings of the server, and reasons for waiting. It may be nil.
	Notice func(what string)

	config    *rest.Config // as in the kubeconfig
	rest      rest.Interface
	resources []Resource // last discovered resources; nil before the first discovery
}

// Connect returns a client of the server in a kubeconfig. It sends no requests.
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

// LoadConfig reads the configuration of a client from a kubeconfig file. Errors are *diagnostic.Error.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	// If no file is set, clientcmd reads its default files and prints warnings to standard error.
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, &diagnostic.Error{Message: "kubeconfig: " + diagnostic.OneLine(err.Error()),
			Hint: "use a kubeconfig file with a current context", Cause: err}
	}
	return config, nil
}

// warnings passes warnings of the server to Notice.
type warnings struct{ to *Client }

// HandleWarningHeader passes warnings to Notice. Warnings have the code 299.
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

// reference identifies an object on the server.
type reference struct {
	resource        Resource
	namespace, name string
}

// String returns the name of the object for messages, such as "guestbook.webapp.example.com/sample".
func (r reference) String() string { return r.resource.singular() + "/" + r.name }

func (r reference) path() string { return r.resource.path(r.namespace) + "/" + r.name }

// checkSegment returns an error for a name of an object or a namespace that would change the path of a request: "."
// would select the collection, and ".." the namespace.
func checkSegment(name string) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("%s is not a valid object name: it %s", diagnostic.Quote(name), strings.Join(problems, ", "))
	}
	return nil
}

// CheckNamespace returns an error for an invalid name of a namespace. The empty name is invalid, because it would mean
// all namespaces.
func CheckNamespace(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%s is not a valid namespace name", diagnostic.Quote(name))
	}
	return nil
}

// object reads an object from the server.
func (c *Client) object(ctx context.Context, r reference) (*unstructured.Unstructured, error) {
	return askObject(ctx, c.rest.Get().AbsPath(r.path()))
}

// askObject sends a request, and returns the object in the response or the error in it.
func askObject(ctx context.Context, r *rest.Request) (*unstructured.Unstructured, error) {
	content, err := ask(ctx, r)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	return o, o.UnmarshalJSON(content)
}

// ask sends a request, and returns the body of the response or the error in it.
func ask(ctx context.Context, r *rest.Request) ([]byte, error) {
	result := r.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// wait calls done repeatedly until done returns true or an error, or until the timeout has passed.
func (c *Client) wait(ctx context.Context, done func(context.Context) (bool, error)) error {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		bounded, cancel = context.WithTimeoutCause(ctx, c.Timeout, &timeoutError{c.Timeout})
	}
	defer cancel()
	err := wait.PollUntilContextCancel(bounded, pollInterval, true, done)
	if err != nil && bounded.Err() != nil {
		return context.Cause(bounded) // ignore the result of the interrupted call
	}
	return err
}

// timeoutError reports that a wait has exceeded the timeout.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("waited %s", e.after) }

func timedOut(err error) bool {
	_, ok := errors.AsType[*timeoutError](err)
	return ok
}
