package simulator

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// exchange sends a request that bypasses the gate, and returns the response body.
func (r *run) exchange(method, path string, data []byte) ([]byte, error) {
	return exchange(r.network, method, path, data)
}

// exchange sends a request to a server and returns the response body.
func exchange(server http.RoundTripper, method, path string, data []byte) ([]byte, error) {
	contentType := jsonType
	if method == http.MethodPatch {
		contentType = mergePatch
	}
	request, err := newRequest(method, path, contentType, data)
	if err != nil {
		return nil, err
	}
	return readAnswer(server.RoundTrip(request))
}

// newRequest returns a request whose response is in JSON.
func newRequest(method, path, contentType string, data []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, "http://in-memory"+path,
		strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", jsonType)
	return request, nil
}

// send sends a request of the user, which bypasses the gate, and records it.
func (r *run) send(method, path string, object *unstructured.Unstructured) error {
	return r.sendAs(r.user, method, path, object)
}

// jsonType is the content type of JSON objects.
const jsonType = "application/json"

// mergePatch is the content type of merge patches.
const mergePatch = "application/merge-patch+json"

// sendAs sends a request of a process, which bypasses the gate, and records it.
func (r *run) sendAs(p *process, method, path string, object *unstructured.Unstructured) error {
	var data []byte
	if object != nil {
		var err error
		if data, err = object.MarshalJSON(); err != nil {
			return err
		}
	}
	return r.sendData(p, method, path, jsonType, data)
}

// attempts is the maximum number of attempts of a user's request that the server answers with an internal error.
const attempts = 60

// sendData sends a request of a process, which bypasses the gate, and records it. The user repeats a request while the
// server cannot call the webhooks of a crashed operator.
func (r *run) sendData(p *process, method, path, contentType string, data []byte) error {
	for i := 1; ; i++ {
		err := r.sendOnce(p, method, path, contentType, data)
		failed, ok := errors.AsType[*statusError](err)
		if p != r.user || !ok || failed.code < http.StatusInternalServerError || i == attempts || r.ctx.Err() != nil {
			return err
		}
		time.Sleep(r.pace.step)
	}
}

func (r *run) sendOnce(p *process, method, path, contentType string, data []byte) error {
	request, err := newRequest(method, path, contentType, data)
	if err != nil {
		return err
	}
	call, err := newCall(p.name, r.began, request)
	if err != nil {
		return err
	}
	call.Request, call.Source = "", ""
	r.gate.touch()
	response, err := p.serve(request, call, false)
	_, err = readAnswer(response, err)
	return err
}

// statusError is the error of a request that the server rejected.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

// hasCode reports whether the server rejected a request with one of the status codes.
func hasCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && slices.Contains(codes, e.code)
}

func isNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

func isConflict(err error) bool { return hasCode(err, http.StatusConflict) }

// isRefused reports whether the server rejected an object or a change.
func isRefused(err error) bool {
	return hasCode(err, http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusForbidden)
}
