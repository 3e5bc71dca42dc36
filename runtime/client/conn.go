package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

const (
	// maxTries is the maximum number of times that a request is sent if the server requests retries.
	maxTries = 10
	// maxRetryAfter is the longest wait for a retry. If the server requests a longer wait, the caller receives the error
	// instead.
	maxRetryAfter = 30 * time.Second
	// maxIdle is how long a list, watch or lookup waits without receiving data. API servers end requests themselves
	// after a minute.
	maxIdle = 2 * time.Minute
	// maxErrorBody is the maximum size of an error answer.
	maxErrorBody = 1 << 20
)

// conn sends HTTP requests to one API server. It does not depend on the types of objects.
type conn struct {
	base      *url.URL
	http      *http.Client
	userAgent string
	warnings  *warnings
	answers   *answers
}

// newConn returns a conn for config. If httpClient is nil, newConn creates one from config.
func newConn(config *rest.Config, httpClient *http.Client, logger *slog.Logger) (*conn, error) {
	if config == nil {
		return nil, errors.New("client: no rest.Config")
	}
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	config.APIPath, config.GroupVersion = "", nil
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if httpClient == nil {
		if httpClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	c := &conn{base: base, http: httpClient, userAgent: config.UserAgent, warnings: newWarnings(config, logger),
		answers: &answers{turn: make(chan struct{}, 1)}}
	c.answers.turn <- struct{}{}
	return c, nil
}

// request is one call. Its String method names it in errors, such as "get guestbooks default/x".
type request struct {
	verb        string
	method      string
	raw         string // the path, if the request is not for a resource
	resource    resource
	wanted      string // the namespace that the caller set, see namespace
	name        string
	posted      string // the name of the created object
	subresource string
	query       url.Values
	accept      string
	contentType string
	body        []byte
	// idleTimeout is how long the request waits without receiving data, first for the header and then for each part of the
	// body. It does not apply to the body of a watch. Zero means no limit.
	idleTimeout time.Duration
}

// namespace returns the namespace of the request, which is empty for a cluster-scoped kind.
func (r *request) namespace() string { return r.resource.within(r.wanted) }

// String describes the request for errors: verb, resource, namespace and name.
func (r *request) String() string {
	if r.raw != "" {
		return r.verb + " " + r.raw
	}
	s := r.verb + " " + r.resource.gvr.Resource
	if r.subresource != "" {
		s += "/" + r.subresource
	}
	switch namespace := r.namespace(); {
	case namespace != "" && r.name != "":
		return s + " " + namespace + "/" + r.name
	case r.name != "":
		return s + " " + r.name
	case namespace != "":
		return s + " in " + namespace
	}
	return s
}

// path returns the URL path of the request, relative to the server's base path.
func (r *request) path() string {
	if r.raw != "" {
		return r.raw
	}
	segments := []string{versionPath(r.resource.gvr.GroupVersion())}
	if namespace := r.namespace(); namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	for _, segment := range []string{r.resource.gvr.Resource, r.name, r.subresource} {
		if segment != "" {
			segments = append(segments, segment)
		}
	}
	return strings.Join(segments, "/")
}

// do sends r, which accepts only JSON, and returns the body of the answer.
func (c *conn) do(ctx context.Context, r *request) ([]byte, error) {
	resp, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := readAll(resp)
	if err != nil {
		return nil, networkError(ctx, r.String(), err)
	}
	if len(body) > 0 {
		if _, err := wire.FormatOf(resp.Header.Get("Content-Type"), wire.JSON); err != nil {
			return nil, &DecodeError{What: r.String(), Err: err}
		}
	}
	return body, nil
}

// readAll reads the body of an answer. It allocates the announced length at once, up to a limit.
func readAll(resp *http.Response) ([]byte, error) {
	const reason = 1 << 20
	var body bytes.Buffer
	body.Grow(int(min(max(resp.ContentLength, 0), reason)) + bytes.MinRead)
	_, err := body.ReadFrom(resp.Body)
	return body.Bytes(), err
}

// open sends r, with the retries that the server requests, and returns a successful answer. The caller closes its body.
func (c *conn) open(ctx context.Context, r *request) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, err := c.send(ctx, r)
		if err != nil {
			return nil, networkError(ctx, r.String(), err)
		}
		c.warnings.handle(ctx, resp.Header)
		if isSuccess(resp) {
			return resp, nil
		}
		refused := responseError(r, resp)
		delay, ok := retryDelay(resp, r.method)
		if !ok || try == maxTries {
			return nil, refused
		}
		if err := life.Sleep(ctx, delay); err != nil {
			return nil, fmt.Errorf("%w (the last answer was: %s)", networkError(ctx, r.String(), err), refused)
		}
	}
}

// send sends r once. It fails if the server sends nothing for the idle timeout of r.
func (c *conn) send(ctx context.Context, r *request) (*http.Response, error) {
	if r.idleTimeout == 0 {
		return c.roundTrip(ctx, r)
	}
	ctx, idle := withIdleTimeout(ctx, r.idleTimeout)
	resp, err := c.roundTrip(ctx, r)
	if err != nil {
		return nil, idle.failed(err)
	}
	waits := idle.timer.Stop() // false if the timer expired just when the header arrived
	idle.ReadCloser, resp.Body = resp.Body, idle
	if r.verb == "watch" && isSuccess(resp) && waits {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{idle.ReadCloser, idle}
	}
	return resp, nil
}

// roundTrip sends r once and waits for the header of the answer until ctx ends.
func (c *conn) roundTrip(ctx context.Context, r *request) (*http.Response, error) {
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + r.path()
	u.RawPath = ""
	u.RawQuery = r.query.Encode()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", r.accept)
	req.Header.Set("User-Agent", c.userAgent)
	if r.verb == "watch" {
		// kube-apiserver 1.37 compresses the events of a streaming list, in parts that can be as small as one event, until
		// the watch ends. That saves little traffic and takes CPU time on both sides.
		req.Header.Set("Accept-Encoding", "identity")
	}
	if r.body != nil {
		req.Header.Set("Content-Type", r.contentType)
	}
	resp, err := c.http.Do(req)
	if err == nil && resp.Request != nil && resp.Request.Method != r.method {
		resp.Body.Close()
		return nil, fmt.Errorf("the server redirects to %s, which would make a %s of it", resp.Request.URL.Redacted(),
			resp.Request.Method)
	}
	if err == nil && isSuccess(resp) {
		c.answers.came()
	}
	return resp, err
}

func isSuccess(resp *http.Response) bool {
	return resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices
}

// retryDelay returns the delay after which the server requests a retry, and whether to retry. It never allows the retry
// of a write that may have taken effect: 429 means that the server refused the request, and after a 5xx code only reads
// are retried.
func retryDelay(resp *http.Response, method string) (time.Duration, bool) {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInternalServerError:
		if method != http.MethodGet {
			return 0, false
		}
	default:
		return 0, false
	}
	seconds, ok := retryAfterSeconds(resp)
	delay := time.Duration(seconds) * time.Second
	return delay, ok && delay <= maxRetryAfter
}

// retryAfterSeconds returns the delay in the Retry-After header, if it is valid: a number of seconds, or the time until
// a date of the server's clock. The result fits into 32 bits, like the field of a Status.
func retryAfterSeconds(resp *http.Response) (int, bool) {
	text := resp.Header.Get("Retry-After")
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			seconds = math.MaxInt32 // the number has too many digits
		}
		return int(seconds), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	// Round up, because the server would refuse an earlier retry.
	seconds := math.Ceil(at.Sub(now).Seconds())
	return int(max(0, min(seconds, math.MaxInt32))), true
}
