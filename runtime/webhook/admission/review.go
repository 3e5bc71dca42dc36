package admission

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/log"
)

// Reviewer answers the AdmissionReviews of the API server, in admission.k8s.io/v1 or v1beta1, by calling a [Handler].
// It rejects other requests with a line of text and one of the codes 400 (invalid review), 405, 413 or 415. It is safe
// for concurrent use. The server, not the Reviewer, limits the size of bodies.
type Reviewer struct {
	handler Handler
	logger  *slog.Logger
	decoder *wire.DocumentDecoder
	buffers httpserver.Buffers
}

// NewReviewer returns a reviewer that calls handler. A nil logger means slog.Default().
func NewReviewer(handler Handler, logger *slog.Logger) *Reviewer {
	decoder, err := wire.NewDocumentDecoder(reflect.TypeFor[admissionv1.AdmissionReview](), true)
	if err != nil {
		panic(err) // the type is known to be valid
	}
	return &Reviewer{handler: handler, logger: log.Brief(cmp.Or(logger, slog.Default())), decoder: decoder}
}

// ServeHTTP answers one review.
func (v *Reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review, code, err := v.read(r)
	if err != nil {
		v.logger.Error("rejected an invalid admission request", "path", r.URL.Path, "client", r.RemoteAddr, "err", err)
		http.Error(w, err.Error(), code)
		return
	}
	req := &Request{*review.Request}
	logger := v.logger.With("path", r.URL.Path, "kind", req.Kind.Kind, "key", req.Key(), "operation", req.Operation)
	response, panicked := v.handle(r, logger, req)
	if panicked {
		httpserver.CountPanic(w)
		http.Error(w, "the webhook panicked, see its log", http.StatusInternalServerError)
		return
	}
	answer, err := encode(review, response)
	if err != nil {
		logger.Error("cannot encode the answer", "err", err)
		http.Error(w, "the webhook cannot encode its answer, see its log", http.StatusInternalServerError)
		return
	}
	if !response.Allowed && statusOf(response).Code >= http.StatusInternalServerError {
		logger.Error("failed", "err", statusOf(response).Message)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

// read returns the review in r, or an error and its HTTP code.
func (v *Reviewer) read(r *http.Request) (*admissionv1.AdmissionReview, int, error) {
	body := v.buffers.Get()
	defer v.buffers.Put(body)
	text, code, err := httpserver.Posted(r, "an AdmissionReview", body)
	if err != nil {
		return nil, code, err
	}
	var review admissionv1.AdmissionReview
	if err := v.decoder.Decode(text, reflect.ValueOf(&review).Elem()); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is not an AdmissionReview: %w", err)
	}
	return &review, http.StatusBadRequest, check(&review)
}

func check(review *admissionv1.AdmissionReview) error {
	if review.Kind == "AdmissionReview" && review.APIVersion == "" { // tests of operators may omit it
		review.APIVersion = admissionv1.SchemeGroupVersion.String()
	}
	gvk := review.GroupVersionKind()
	if gvk.Group != admissionv1.GroupName || gvk.Kind != "AdmissionReview" || !slices.Contains([]string{"v1", "v1beta1"},
		gvk.Version) {
		return fmt.Errorf("the body is a %q of %q, want an AdmissionReview of admission.k8s.io/v1", review.Kind,
			review.APIVersion)
	}
	switch {
	case review.Request == nil:
		return errors.New("the AdmissionReview has no request")
	case review.Request.UID == "":
		return errors.New("the request of the AdmissionReview has no uid")
	}
	return nil
}

func (v *Reviewer) handle(r *http.Request, logger *slog.Logger, req *Request) (response Response, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic", "panic", p, "stack", string(debug.Stack()))
			panicked = true
		}
	}()
	return v.handler.Handle(ContextWithRequest(log.IntoContext(r.Context(), logger), req), req), false
}

// encode returns the review with its request replaced by the answer.
func encode(review *admissionv1.AdmissionReview, r Response) ([]byte, error) {
	answer := &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: r.Allowed, Result: statusOf(r), Warnings: r.Warnings,
		AuditAnnotations: r.AuditAnnotations,
	}
	if r.Allowed && len(r.Patches) > 0 {
		patch, err := json.Marshal(r.Patches)
		if err != nil {
			return nil, err
		}
		jsonPatch := admissionv1.PatchTypeJSONPatch
		answer.Patch, answer.PatchType = patch, &jsonPatch
	}
	return json.Marshal(&admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: answer})
}
