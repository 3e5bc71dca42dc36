package apiserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metainternalversionvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// Most reads request objects as JSON in the stored version. The server answers these reads with the stored bytes,
// without upstream's handlers, which would decode and encode each object. Upstream's handlers answer all other requests
// and report all errors, so errors have only one implementation.

// getVerbatim answers a get of one object with the object's stored form, and reports whether it did. It never waits,
// because it excludes objects that need a conversion, for which a webhook may be called.
func getVerbatim(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint) bool {
	if info.Verb != "get" || r.URL.RawQuery != "" {
		return false
	}
	v, ok := newVerbatim(r, info, e)
	return ok && v.get(request.WithNamespace(r.Context(), info.Namespace), w, r)
}

// listVerbatim answers a list or watch with the stored form of objects, and reports whether it did.
func listVerbatim(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, e *endpoint) bool {
	if info.Verb != "list" && info.Verb != "watch" {
		return false
	}
	v, ok := newVerbatim(r, info, e)
	if !ok {
		return false
	}
	options, ok := v.listOptions(r)
	if !ok {
		return false
	}
	ctx := request.WithNamespace(r.Context(), info.Namespace)
	if info.Verb == "watch" || options.Watch {
		return v.watch(ctx, w, r, options)
	}
	return v.list(ctx, w, r, options)
}

// newVerbatim returns the state for a request for JSON in the stored version.
func newVerbatim(r *http.Request, info *request.RequestInfo, e *endpoint) (v verbatim, ok bool) {
	storage, ok := e.objects.(interface{ stored() *registry })
	if !ok || info.Subresource != "" || r.Header.Get("Upgrade") != "" {
		return v, false
	}
	accepted, media, err := negotiation.NegotiateOutputMediaType(r, e.scope.Serializer, e.scope)
	if err != nil || accepted.Convert != nil || media.MediaType != runtime.ContentTypeJSON {
		return v, false
	}
	if media.Serializer == media.PrettySerializer { // pretty output, which browsers and curl also receive
		return v, false
	}
	return verbatim{storage.stored(), e.scope, media, info}, true
}

// stored returns the registry. Storages that embed a registry to extend some writes also have this method.
func (r *registry) stored() *registry { return r }

type verbatim struct {
	*registry
	scope *handlers.RequestScope
	media runtime.SerializerInfo
	info  *request.RequestInfo
}

func (v verbatim) get(ctx context.Context, w http.ResponseWriter, r *http.Request) bool {
	key, err := v.key(ctx, v.info.Name)
	if err != nil {
		return false
	}
	record := v.table.Get(key)
	if record == nil {
		responsewriters.ErrorNegotiated(apierrors.NewNotFound(v.qualified(ctx), v.info.Name), v.scope.Serializer,
			v.scope.Kind.GroupVersion(), w, r)
		return true
	}
	data, ok := v.appendObject(nil, record, false)
	if ok {
		v.write(w, r, http.StatusOK, append(data, '\n'))
	}
	return ok
}

// appendObject appends an object as JSON, if its stored form is the form that readers receive.
func (v verbatim) appendObject(data []byte, r *store.Record, item bool) ([]byte, bool) {
	if r.Object == nil {
		if !v.codec.(*customCodec).verbatim(r) {
			return data, false
		}
		if data == nil {
			data = make([]byte, 0, len(r.Document.Data)+len("18446744073709551615\n"))
		}
		return r.Document.AppendTo(data, r.Revision), true
	}
	a := v.encoded(r)
	if a == nil {
		return data, false
	}
	if !item {
		return append(data, a.Data...), true
	}
	return append(append(data, '{'), a.Data[len(a.Kind):]...), true
}

// encoded returns an object of a Go type as JSON, which is created at the first read.
func (v verbatim) encoded(r *store.Record) *store.Encoded {
	kind := `{"kind":"` + v.kind.Kind + `","apiVersion":"` + v.kind.GroupVersion().String() + `",`
	if a := r.Encoded.Load(); a != nil && a.Kind == kind {
		return a
	}
	object, err := v.codec.decode(r)
	if err != nil {
		return nil
	}
	data, err := v.encode(object)
	if err != nil || !bytes.HasPrefix(data, []byte(kind)) {
		return nil
	}
	a := &store.Encoded{Kind: kind, Data: bytes.Clone(data)}
	r.Encoded.Store(a)
	return a
}

// encode returns the encoding of upstream's handlers, without the final newline.
func (v verbatim) encode(object runtime.Object) ([]byte, error) {
	data, err := runtime.Encode(v.scope.Serializer.EncoderForVersion(v.media.Serializer, v.scope.Kind.GroupVersion()),
		object)
	return bytes.TrimSuffix(data, []byte{'\n'}), err
}

// listOptions returns the options of a list or watch, unless they are invalid.
func (v verbatim) listOptions(r *http.Request) (*internalversion.ListOptions, bool) {
	options := &internalversion.ListOptions{}
	if r.URL.RawQuery != "" {
		if err := metainternalversionscheme.ParameterCodec.DecodeParameters(r.URL.Query(), v.scope.MetaGroupVersion,
			options); err != nil {
			return nil, false
		}
	}
	watchList := utilfeature.DefaultFeatureGate.Enabled(features.WatchList)
	internalversion.SetListOptionsDefaults(options, watchList)
	if problems := metainternalversionvalidation.ValidateListOptions(options, watchList); len(problems) > 0 {
		return nil, false
	}
	if options.FieldSelector != nil {
		selector, err := options.FieldSelector.Transform(func(label, value string) (string, string, error) {
			return v.scope.Convertor.ConvertFieldLabel(v.scope.Kind, label, value)
		})
		if err != nil {
			return nil, false
		}
		options.FieldSelector = selector
	}
	name := v.info.Name
	switch {
	case name == "":
	case options.FieldSelector == nil || options.FieldSelector.Empty():
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
	default:
		if selected, ok := options.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != name {
			return nil, false
		}
	}
	return options, true
}

func (v verbatim) list(ctx context.Context, w http.ResponseWriter, r *http.Request,
	options *internalversion.ListOptions) bool {
	records, list, err := v.listRecords(ctx, options)
	if err != nil {
		err = storageerrors.InterpretListError(err, v.qualified(ctx))
		responsewriters.ErrorNegotiated(err, v.scope.Serializer, v.scope.Kind.GroupVersion(), w, r)
		return true
	}
	if err := setItems(list, []runtime.Object{}); err != nil {
		return false
	}
	empty, err := v.encode(list)
	if err != nil {
		return false
	}
	const items = `"items":[`
	before, after, found := bytes.Cut(empty, []byte(items))
	if !found {
		return false
	}
	size := len(empty) + 1
	for _, record := range records {
		size += len(record.Document.Data) + 24 // a comma and the version
	}
	data := append(append(make([]byte, 0, size), before...), items...)
	for i, record := range records {
		if i > 0 {
			data = append(data, ',')
		}
		var ok bool
		if data, ok = v.appendObject(data, record, true); !ok {
			return false
		}
	}
	v.write(w, r, http.StatusOK, append(append(data, after...), '\n'))
	return true
}

// write writes a response. It compresses a long response if the client accepts that.
func (v verbatim) write(w http.ResponseWriter, r *http.Request, status int, data []byte) {
	const long = 128 << 10
	w.Header().Set("Content-Type", v.media.MediaType)
	if len(data) <= long || !takesGzip(r) {
		w.WriteHeader(status)
		give(w, data)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	w.WriteHeader(status)
	zipped, err := gzip.NewWriterLevel(w, 1)
	must.Do(err)
	_, _ = zipped.Write(data)
	_ = zipped.Close()
}

func takesGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// give writes data that the writer may retain.
func give(w http.ResponseWriter, data []byte) {
	if own, ok := w.(*response); ok {
		own.give(data)
		return
	}
	_, _ = w.Write(data)
}

func (v verbatim) watch(ctx context.Context, w http.ResponseWriter, r *http.Request,
	options *internalversion.ListOptions) bool {
	if v.media.StreamSerializer == nil || takesGzip(r) {
		return false
	}
	if w, ok := w.(http.Flusher); !ok || w == nil {
		return false
	}
	timeout := time.Duration(float64(minimumTimeout) * (rand.Float64() + 1))
	if given := options.TimeoutSeconds; given != nil && *given != 0 {
		timeout = time.Duration(*given) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	watcher, err := v.newWatcher(ctx, options)
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", v.media.MediaType)
	w.Header().Set("Transfer-Encoding", "chunked")
	w.WriteHeader(http.StatusOK)
	client := &verbatimWatch{verbatim: v, w: w}
	w.(http.Flusher).Flush()
	watcher.client = client
	watcher.run(ctx, nil)
	client.caughtUp()
	return true
}

// verbatimWatch sends changes in the stored form.
type verbatimWatch struct {
	verbatim
	w      http.ResponseWriter
	buffer []byte // unwritten events
}

// burst is the size of buffered events from which they are written.
const burst = 32 << 10

func (t *verbatimWatch) change(ctx context.Context, event watch.EventType, r *store.Record) bool {
	t.begin(event)
	data, ok := t.appendObject(t.buffer, r, false)
	if !ok {
		object, err := t.codec.decode(r)
		if err == nil {
			data, err = t.encode(object)
		}
		if err != nil {
			return false
		}
		data = append(t.buffer, data...)
	}
	t.buffer = data
	return t.end(ctx)
}

func (t *verbatimWatch) event(ctx context.Context, event watch.Event) bool {
	data, err := t.encode(event.Object)
	if err != nil {
		return false
	}
	t.begin(event.Type)
	t.buffer = append(t.buffer, data...)
	return t.end(ctx)
}

func (t *verbatimWatch) begin(event watch.EventType) {
	t.buffer = append(append(append(t.buffer, `{"type":"`...), event...), `","object":`...)
}

func (t *verbatimWatch) end(ctx context.Context) bool {
	t.buffer = append(t.buffer, "}\n"...)
	if len(t.buffer) < burst {
		return true
	}
	return t.flush() && ctx.Err() == nil
}

func (t *verbatimWatch) flush() bool {
	_, err := t.w.Write(t.buffer)
	t.buffer = t.buffer[:0]
	return err == nil
}

func (t *verbatimWatch) caughtUp() {
	if len(t.buffer) > 0 && t.flush() {
		t.w.(http.Flusher).Flush()
	}
}
