package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// process is a running operator, or another client. Its transport sends each request through the gate.
type process struct {
	name   string
	run    *run
	user   string // service account; empty means all permissions
	faulty bool   // it is the operator, so faults are injected into its requests
	began  time.Time

	connected bool // it has sent a request; the run's mu guards the field
	started   bool // its manager has started, if the operator has a main function; the run's mu guards the field

	ctx   context.Context // ends with a crash
	crash context.CancelFunc

	// The run's mu guards the fields below.
	metrics   *metrics.Registry // of the manager; nil until it exists
	leaseless time.Time         // the process cannot renew its lease until this time
	stalled   time.Time         // its requests and events wait until this time
	seen      map[string]string // last version of each object that the process has read, by path
}

// errCrashed is the result of requests of a process that has crashed.
var errCrashed = errors.New("the simulated process has crashed")

func (p *process) config() *rest.Config {
	return &rest.Config{Host: "http://in-memory", Transport: p, QPS: -1}
}

// HandleWebhooks lets a manager serve its webhooks in this process. Package manager calls it by its signature.
func (p *process) HandleWebhooks(handler http.Handler) (url string, release func()) {
	return p.run.network.(interface {
		HandleWebhooks(handler http.Handler) (url string, release func())
	}).HandleWebhooks(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if p.run.isDown() {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		handler.ServeHTTP(w, request)
	}))
}

// RoundTrip implements http.RoundTripper.
func (p *process) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.roundTrip(request)
	if errors.Is(err, errCrashed) {
		p.endSetup()
	}
	return response, err
}

func (p *process) roundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	call, err := newCall(p.name, p.run.began, request)
	if err != nil {
		return nil, err
	}
	plainJSON(request)
	if isSetup() { // in a cluster, the deployment installs the webhooks, and a crash does not remove them
		if p.ctx.Err() != nil {
			return nil, errCrashed
		}
		return p.run.network.RoundTrip(request)
	}
	faulty := p.faulty
	if faulty && p.user != "" {
		request.Header.Set("Impersonate-User", p.user)
		request.Header["Impersonate-Group"] = groupsOf(p.user)
	}
	// The body distinguishes concurrent creations with generated names.
	op := &operation{
		order: p.name + " " + call.Target + " " + string(call.sent),
		quiet: call.resource.isBackground() || call.resource.name == "" || call.verb == "watch",
	}
	// An operator may poll forever, or repeat a write without effect forever. In real time, reads count as activity,
	// because a new process only reads for a while.
	op.polls = isWrite(call.verb) || p.run.operator.Command == nil
	op.from = p.run.stalledUntil(p)
	ctx, cancel := context.WithCancel(request.Context())
	defer context.AfterFunc(p.ctx, cancel)()
	passed := p.run.gate.pass(ctx, op)
	cancel()
	switch {
	case p.ctx.Err() != nil:
		return nil, errCrashed
	case !passed:
		return nil, request.Context().Err()
	}
	return p.serve(request, call, faulty)
}

// serve injects the fault into a request that has passed the gate, and sends the request.
func (p *process) serve(request *http.Request, call *Call, faulty bool) (*http.Response, error) {
	p.run.record(call, p)
	fault := Kind("")
	if faulty && !call.resource.isBackground() {
		fault = p.run.faultAt(call.Target, call.Number)
	}
	call.Fault = string(fault)
	switch fault {
	case WebhookDown:
		p.run.breakWebhooks()
	case LoseLease, Stall, Jump:
		if err := p.run.delay(p, fault, request); err != nil {
			return nil, err
		}
	case Reject, Conflict, TooMany, ServerError, Timeout:
		return refuse(request, call, refusals[fault])
	case CrashBefore:
		p.run.restart(p)
		return nil, errCrashed
	case CrashAfter:
		// End the watches of the process before the commit. Otherwise, it is random whether they receive the event.
		request = request.WithContext(context.WithoutCancel(request.Context()))
		p.crash()
		p.run.gate.pass(request.Context(), &operation{order: "crash " + p.name, quiet: true})
	case Delete, Recreate:
		if err := p.run.actOnSamples(fault); err != nil {
			return nil, err
		}
	case Change:
		if err := p.run.edit(p.run.plan.Change.Value); err != nil && !isRefused(err) {
			return nil, err
		}
	}
	if faulty && call.resource.name == "leases" && isWrite(call.verb) && p.run.isLeaseless(p) {
		return refuse(request, call, metav1.Status{
			Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "the lease is lost",
		})
	}
	response, err := p.send(request, call)
	switch {
	case err != nil:
		return nil, err
	case fault == CrashAfter:
		_ = response.Body.Close()
		p.run.restart(p)
		return nil, errCrashed
	case fault == LoseResponse:
		_ = response.Body.Close()
		return nil, fmt.Errorf("read the answer: %w", syscall.ECONNRESET)
	}
	return response, nil
}

// send sends a request to the server and records the response. The events of a watch pass the gate.
func (p *process) send(request *http.Request, call *Call) (*http.Response, error) {
	if call.verb == "watch" && p.run.isGone(p, call) {
		return refuse(request, call, metav1.Status{
			Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
		})
	}
	if p.faulty && p.run.isRewound(call) {
		switch {
		case call.verb == "list":
			request = past(request, p.run.rewind.version)
		case request.URL.Query().Get("sendInitialEvents") == "true": // the client then uses a list
			return refuse(request, call, metav1.Status{
				Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
				Message: "sendInitialEvents: Forbidden: the server does not stream lists",
			})
		}
	}
	served := request
	if call.verb == "watch" {
		served = request.Clone(context.WithoutCancel(request.Context())) // the stream ends it
	}
	if isWrite(call.verb) && p.run.left.server != nil { // the response has the object to delete later, also after a crash
		if !p.run.left.begin() {
			return nil, errCrashed
		}
		defer p.run.left.done()
		served = request.WithContext(context.WithoutCancel(request.Context()))
	}
	response, err := p.run.network.RoundTrip(served)
	if err != nil {
		call.Message = err.Error()
		return nil, err
	}
	call.Status = response.StatusCode
	if call.Status == http.StatusForbidden && call.Fault == "" && p.faulty &&
		(p.run.plan.Then != Terminate || !isWrite(call.verb)) { // a deleted namespace accepts no objects
		p.run.forbidden(call)
	}
	if call.Status == http.StatusNotFound && p.faulty && (call.verb == "watch" || call.verb == "list") {
		p.run.notServed(call)
	}
	if !isWrite(call.verb) && call.Status == http.StatusOK {
		p.run.read(p, call)
	}
	if call.verb == "watch" && response.StatusCode == http.StatusOK {
		response.Body = newStream(p, call.resource, request.Context(), response.Body)
		return response, nil
	}
	if !isWrite(call.verb) && response.StatusCode < 300 {
		return response, nil
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	p.run.answered(call, body)
	if isWrite(call.verb) && !call.resource.isBackground() && (call.Changed || call.Status >= 300) {
		p.run.gate.touch()
	}
	if call.Changed {
		p.run.checkRules(call)
	}
	if p.faulty && call.verb == "update" {
		p.run.findLost(p, call)
	}
	return response, nil
}

// plainJSON removes protobuf from the formats that a request accepts, so that the simulator can read the response.
func plainJSON(request *http.Request) {
	var kept []string
	for format := range strings.SplitSeq(request.Header.Get("Accept"), ",") {
		if !strings.Contains(format, "protobuf") && strings.TrimSpace(format) != "" {
			kept = append(kept, format)
		}
	}
	if len(kept) == 0 {
		kept = []string{"application/json"}
	}
	request.Header.Set("Accept", strings.Join(kept, ","))
	request.Header.Del("Accept-Encoding")
}

// groupsOf returns the groups of a user, which is usually a service account.
func groupsOf(user string) []string {
	parts := strings.Split(user, ":")
	if len(parts) != 4 {
		return []string{"system:authenticated"}
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + parts[2], "system:authenticated"}
}

// refusals has the responses to writes that the server rejects because of a fault.
var refusals = map[Kind]metav1.Status{
	Reject: {
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: "an admission policy denies the request",
	},
	Conflict: {
		Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: "the object has been modified; please apply your changes to the latest version and try again",
	},
	TooMany: {
		Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "too many requests, please try again later",
		Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
	},
	ServerError: {
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "an error on the server has prevented the request from succeeding",
	},
	Timeout: {
		Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout,
		Message: "the server was unable to return a response in the time allotted",
	},
}

// refuse returns an error response without sending the request to the server.
func refuse(request *http.Request, call *Call, status metav1.Status) (*http.Response, error) {
	status.TypeMeta, status.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
	code := int(status.Code)
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	call.Status, call.Message = code, status.Message
	header := http.Header{"Content-Type": {"application/json"}}
	if code == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, nil
}

// Event is an event of a watch that a process received.
type Event struct {
	Time    time.Duration `json:"time"`
	Process string        `json:"process"`
	Target  string        `json:"target"`
	Number  int           `json:"number"`
	Fault   string        `json:"fault,omitempty"`
}

// stream is the body of a watch. Its events pass the gate one at a time.
type stream struct {
	p        *process
	resource resource
	ctx      context.Context // of the request
	from     io.ReadCloser

	mu     sync.Mutex
	ready  sync.Cond // signaled when a field below changes
	data   []byte
	err    error
	closed bool
}

func newStream(p *process, r resource, ctx context.Context, from io.ReadCloser) *stream {
	s := &stream{p: p, resource: r, ctx: ctx, from: from}
	s.ready.L = &s.mu
	stop := context.AfterFunc(ctx, func() { s.end(ctx.Err()) })
	crashed := context.AfterFunc(p.ctx, func() { s.end(errCrashed) })
	p.run.streams.Go(func() { // ends with the watch
		defer stop()
		defer crashed()
		defer from.Close()
		s.pump()
	})
	return s
}

// frame is the part of a watch event that the simulator reads.
type frame struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Namespace       string `json:"namespace"`
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	} `json:"object"`
}

// pump passes events until the watch ends.
func (s *stream) pump() {
	decoder := json.NewDecoder(s.from)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			s.end(err)
			return
		}
		var f frame
		if err := json.Unmarshal(raw, &f); err != nil {
			s.end(err)
			return
		}
		if !s.event(f, raw) {
			return
		}
	}
}

// event passes one event through the gate. It returns false if the watch has ended.
func (s *stream) event(f frame, raw []byte) bool {
	r := s.resource
	if r.object == "" {
		r.namespace, r.object = f.Object.Metadata.Namespace, f.Object.Metadata.Name
	}
	e := &Event{
		Process: s.p.name,
		Target:  "event " + r.kind() + " " + f.Type + " " + strings.TrimPrefix(r.namespace+"/"+r.object, "/"),
	}
	op := &operation{order: e.Target + " " + s.p.name + " " + f.Object.Metadata.ResourceVersion}
	quiet := f.Type == "BOOKMARK" || f.Type == "ERROR" || r.isBackground()
	op.quiet = quiet
	var fault Fault
	if s.p.faulty && !quiet {
		s.p.run.sent(s.p, r.kind(), 1)
		defer s.p.run.sent(s.p, r.kind(), -1)
		fault = s.p.run.eventAt(e)
		op.from = s.p.run.eventFrom(s.p, r.kind())
		s.p.run.past(e, f.Object.Metadata.ResourceVersion)
	}
	switch fault.Kind {
	case Lag:
		op.from = time.Now().Add(fault.For.Duration)
	case Cut, Hide:
		if fault.Kind == Hide {
			s.p.run.hide(s.p, r.kind(), fault.For.Duration)
		}
		s.end(io.EOF)
		return false
	}
	if !s.p.run.gate.pass(s.ctx, op) {
		s.end(s.ctx.Err())
		return false
	}
	e.Time = time.Since(s.p.run.began)
	s.p.run.received(e, quiet)
	s.p.run.saw(s.p, r.path(), f.Object.Metadata.ResourceVersion)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(append(s.data, raw...), '\n')
	s.ready.Broadcast()
	return !s.closed && s.err == nil
}

func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		_ = s.from.Close() // ends pump
	}
	s.ready.Broadcast()
}

// Read implements io.Reader.
func (s *stream) Read(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data) == 0 && s.err == nil && !s.closed {
		s.ready.Wait()
	}
	if s.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(s.data) > 0 && !errors.Is(s.err, errCrashed) {
		n := copy(data, s.data)
		s.data = s.data[n:]
		return n, nil
	}
	return 0, s.err
}

// Close ends the watch.
func (s *stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.ready.Broadcast()
	s.mu.Unlock()
	return s.from.Close()
}
