package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	kserver "github.com/kctrl-dev/kctrl/runtime/webhook/server"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// maxRequestSize is the maximum size of a review, which contains two objects of at most 3 MiB.
const maxRequestSize = int64(7 << 20)

var reviews = newReviews()

func newReviews() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(admissionv1.AddToScheme(scheme))
	utilruntime.Must(admissionv1beta1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

// review is a review of any version, because all versions have the same JSON.
type review struct{ admissionv1.AdmissionReview }

var _ http.Handler = (*Webhook)(nil)

// ServeHTTP answers an AdmissionReview.
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wh.WithContextFunc != nil {
		ctx = wh.WithContextFunc(ctx, r)
	}
	req, gvk, code, err := wh.read(r)
	if err != nil {
		wh.logger(nil).Error(err, "unable to read the request")
		wh.write(w, Errored(code, err), nil)
		return
	}
	wh.logger(&req).V(5).Info("received request")
	wh.write(w, wh.Handle(ctx, req), gvk)
}

// read returns the request in the body of r and the kind of its review, or an error and its code.
func (wh *Webhook) read(r *http.Request) (req Request, gvk *schema.GroupVersionKind, code int32, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return req, nil, http.StatusBadRequest, errors.New("request body is empty")
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestSize))
	switch contentType := r.Header.Get("Content-Type"); {
	case err != nil:
		return req, nil, http.StatusBadRequest, err
	case int64(len(body)) >= maxRequestSize:
		return req, nil, http.StatusRequestEntityTooLarge,
			fmt.Errorf("request entity is too large; limit is %d bytes", maxRequestSize)
	case contentType != "application/json":
		return req, nil, http.StatusBadRequest, fmt.Errorf("contentType=%s, expected application/json", contentType)
	}
	in := &review{}
	in.Request = &req.AdmissionRequest // an absent request becomes an empty one
	in.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	_, gvk, err = reviews.Decode(body, nil, in)
	return req, gvk, http.StatusBadRequest, err
}

// write writes a response in a review of a kind. If the kind is nil, the review has none.
func (wh *Webhook) write(w io.Writer, response Response, gvk *schema.GroupVersionKind) {
	out := admissionv1.AdmissionReview{Response: &response.AdmissionResponse}
	if gvk != nil {
		out.SetGroupVersionKind(*gvk)
		if gvk.Empty() {
			out.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
		}
	}
	err := json.NewEncoder(w).Encode(out)
	if err == nil {
		wh.logger(nil).V(5).Info("wrote response", "requestID", response.UID, "allowed", response.Allowed)
		return
	}
	wh.logger(nil).Error(err, "unable to encode and write the response")
	failed := Errored(http.StatusInternalServerError, err)
	if err := json.NewEncoder(w).Encode(admissionv1.AdmissionReview{Response: &failed.AdmissionResponse}); err != nil {
		wh.logger(nil).Error(err, "still unable to encode and write the InternalServerError response")
	}
}

// StandaloneOptions are the options of [StandaloneWebhook].
type StandaloneOptions struct {
	// Logger is the logger of the webhook.
	Logger logr.Logger
	// MetricsPath is the path label of the metrics. Empty disables the metrics.
	MetricsPath string
}

// StandaloneWebhook returns a webhook that the caller registers with its own HTTP server.
func StandaloneWebhook(hook *Webhook, opts StandaloneOptions) (http.Handler, error) {
	if opts.Logger.GetSink() != nil {
		hook.log = opts.Logger
	}
	if opts.MetricsPath == "" {
		return hook, nil
	}
	measured := kserver.New(kserver.Options{Metrics: metrics.Kctrl()})
	if err := measured.Handle(opts.MetricsPath, hook, kserver.MaxReview); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := r.Clone(r.Context())
		at.URL.Path = opts.MetricsPath
		measured.ServeHTTP(w, at)
	}), nil
}
