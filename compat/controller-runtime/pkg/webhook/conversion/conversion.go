// Package conversion provides the webhook that converts objects between versions.
package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"sigs.k8s.io/controller-runtime/pkg/conversion"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion/metrics"
)

var log = logf.Log.WithName("conversion-webhook")

// Decoder decodes objects into the types of a scheme.
type Decoder struct{ from runtime.Decoder }

// NewDecoder returns a decoder for the types of scheme. It panics if scheme is nil.
func NewDecoder(scheme *runtime.Scheme) *Decoder {
	if scheme == nil {
		panic("scheme should never be nil")
	}
	return &Decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}
}

// Decode decodes an object into a new value of its type.
func (d *Decoder) Decode(content []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	return d.from.Decode(content, nil, nil)
}

// DecodeInto decodes an object.
func (d *Decoder) DecodeInto(content []byte, into runtime.Object) error {
	return runtime.DecodeInto(d.from, content, into)
}

// NewWebhookHandler returns the webhook for the types of scheme. It converts kinds with their converter in registry,
// and other kinds with the methods of their types.
func NewWebhookHandler(scheme *runtime.Scheme, registry Registry) http.Handler {
	return &webhook{scheme, NewDecoder(scheme), registry}
}

type webhook struct {
	scheme   *runtime.Scheme
	decoder  *Decoder
	registry Registry
}

// ServeHTTP answers a ConversionReview.
func (wh *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		log.Error(err, "failed to read conversion request")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if review.Request == nil {
		log.Error(nil, "conversion request is nil")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	response, err := wh.answer(r.Context(), review.Request)
	if err != nil {
		log.Error(err, "failed to convert", "request", review.Request.UID)
		response = &apiextensionsv1.ConversionResponse{
			Result: metav1.Status{Status: metav1.StatusFailure, Message: err.Error()},
		}
	}
	response.UID = review.Request.UID
	review.Response, review.Request = response, nil
	if err := json.NewEncoder(w).Encode(review); err != nil {
		log.Error(err, "failed to write response")
	}
}

// answer converts the objects of a request.
func (wh *webhook) answer(
	ctx context.Context, req *apiextensionsv1.ConversionRequest,
) (_ *apiextensionsv1.ConversionResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			metrics.WebhookPanics.WithLabelValues().Inc()
			for _, handle := range utilruntime.PanicHandlers {
				handle(ctx, p)
			}
			err = errors.New("internal error occurred during conversion")
		}
	}()
	var converted []runtime.RawExtension
	for _, raw := range req.Objects {
		src, gvk, err := wh.decoder.Decode(raw.Raw)
		if err != nil {
			return nil, err
		}
		wanted := schema.FromAPIVersionAndKind(req.DesiredAPIVersion, gvk.Kind)
		dst, err := wh.scheme.New(wanted)
		if err != nil {
			return nil, err
		}
		dst.GetObjectKind().SetGroupVersionKind(wanted)
		if err := wh.convert(ctx, src, dst); err != nil {
			return nil, err
		}
		converted = append(converted, runtime.RawExtension{Object: dst})
	}
	return &apiextensionsv1.ConversionResponse{
		UID: req.UID, ConvertedObjects: converted, Result: metav1.Status{Status: metav1.StatusSuccess},
	}, nil
}

// convert sets dst to src, in the version of dst.
func (wh *webhook) convert(ctx context.Context, src, dst runtime.Object) error {
	from, to := src.GetObjectKind().GroupVersionKind(), dst.GetObjectKind().GroupVersionKind()
	if from.GroupKind() != to.GroupKind() {
		return fmt.Errorf("src %T and dst %T does not belong to same API Group", src, dst)
	}
	if from == to {
		return fmt.Errorf("conversion is not allowed between same type %T", src)
	}
	if converter, ok := wh.registry.GetConverter(from.GroupKind()); ok {
		return converter.ConvertObject(ctx, src, dst)
	}
	srcHub, srcIsHub := src.(conversion.Hub)
	dstHub, dstIsHub := dst.(conversion.Hub)
	srcSpoke, srcIsSpoke := src.(conversion.Convertible)
	dstSpoke, dstIsSpoke := dst.(conversion.Convertible)
	switch {
	case srcIsHub && dstIsSpoke:
		return dstSpoke.ConvertFrom(srcHub)
	case dstIsHub && srcIsSpoke:
		return srcSpoke.ConvertTo(dstHub)
	case srcIsSpoke && dstIsSpoke:
		return wh.convertThroughHub(srcSpoke, dstSpoke)
	}
	return fmt.Errorf("%T is not convertible to %T", src, dst)
}

func (wh *webhook) convertThroughHub(src, dst conversion.Convertible) error {
	versions, err := versionsOf(wh.scheme, src)
	if err != nil {
		return err
	}
	if len(versions.hubs) > 1 {
		return fmt.Errorf("multiple hub version defined for %T", src)
	}
	if len(versions.hubs) == 0 {
		return fmt.Errorf("%T does not have any Hub defined", src)
	}
	hub := versions.hubs[0].(conversion.Hub)
	if err := src.ConvertTo(hub); err != nil {
		return fmt.Errorf("%T failed to convert to hub version %T : %w", src, hub, err)
	}
	if err := dst.ConvertFrom(hub); err != nil {
		return fmt.Errorf("%T failed to convert from hub version %T : %w", dst, hub, err)
	}
	return nil
}

// versions has the versions of a kind, grouped by the interfaces that they implement.
type versions struct {
	kind                    schema.GroupVersionKind
	hubs, spokes, nonSpokes []runtime.Object
}

func (v versions) count() int { return len(v.hubs) + len(v.spokes) + len(v.nonSpokes) }

// versionsOf returns all versions of the kind of obj in scheme.
func versionsOf(scheme *runtime.Scheme, obj runtime.Object) (versions, error) {
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return versions{}, err
	}
	if len(kinds) != 1 {
		return versions{}, fmt.Errorf("expect to get only one GVK for %v", obj)
	}
	all := versions{kind: kinds[0]}
	for gvk := range scheme.AllKnownTypes() {
		if gvk.GroupKind() != all.kind.GroupKind() {
			continue
		}
		instance, err := scheme.New(gvk)
		if err != nil {
			return versions{}, fmt.Errorf("failed to allocate an instance for gvk %v: %w", gvk, err)
		}
		switch instance.(type) {
		case conversion.Hub:
			all.hubs = append(all.hubs, instance)
		case conversion.Convertible:
			all.spokes = append(all.spokes, instance)
		default:
			all.nonSpokes = append(all.nonSpokes, instance)
		}
	}
	return all, nil
}

// IsConvertible reports whether the kind of obj has a hub and spokes. It returns a [PartialImplementationError] if only
// some versions are convertible.
func IsConvertible(scheme *runtime.Scheme, obj runtime.Object) (bool, error) {
	all, err := versionsOf(scheme, obj)
	switch {
	case err != nil:
		return false, err
	case all.count() == 1, len(all.hubs)+len(all.spokes) == 0:
		return false, nil
	case len(all.hubs) == 1 && len(all.nonSpokes) == 0:
		return true, nil
	}
	return false, PartialImplementationError{all}
}

// PartialImplementationError reports that only some versions of a kind are convertible.
type PartialImplementationError struct{ versions versions }

// Error lists the missing implementations.
func (e PartialImplementationError) Error() string {
	switch v := e.versions; {
	case len(v.hubs) == 0:
		return fmt.Sprintf("no hub defined for gvk %s", v.kind)
	case len(v.hubs) > 1:
		return fmt.Sprintf("multiple(%d) hubs defined for group-kind '%s' ", len(v.hubs), v.kind.GroupKind())
	case len(v.nonSpokes) > 0:
		return fmt.Sprintf("%d inconvertible types detected for group-kind '%s'", len(v.nonSpokes), v.kind.GroupKind())
	}
	return ""
}
