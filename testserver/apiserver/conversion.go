package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
)

// converter converts custom resources between the versions of their definition. It modifies its arguments. It is safe
// for concurrent use.
type converter struct {
	versions   sets.Set[schema.GroupVersion]
	namespaced bool
	selectable map[schema.GroupVersion]sets.Set[string]
	convert    func(object runtime.Object, target schema.GroupVersion) (runtime.Object, error)
}

// newConverter returns a converter between the versions of a definition. A conversion has no context of its own, so its
// webhook requests end when the server is closed.
func (s *Server) newConverter(crd *apiextensionsv1.CustomResourceDefinition) (*converter, error) {
	c := &converter{versions: sets.New[schema.GroupVersion](),
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, selectable: map[schema.GroupVersion]sets.Set[string]{}}
	for _, v := range crd.Spec.Versions {
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		c.versions.Insert(gv)
		c.selectable[gv] = sets.New[string]()
		for _, selectable := range v.SelectableFields {
			c.selectable[gv].Insert(strings.TrimPrefix(selectable.JSONPath, "."))
		}
	}
	c.convert = rename
	if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
		hook, err := s.newConversionWebhook(crd)
		if err != nil {
			return nil, err
		}
		c.convert = hook.convert
	}
	return c, nil
}

// rename converts an object by changing only its version.
func rename(object runtime.Object, target schema.GroupVersion) (runtime.Object, error) {
	if list, ok := object.(*unstructured.UnstructuredList); ok {
		for i := range list.Items {
			list.Items[i].SetAPIVersion(target.String())
		}
	}
	object.GetObjectKind().SetGroupVersionKind(target.WithKind(object.GetObjectKind().GroupVersionKind().Kind))
	return object, nil
}

func (c *converter) ConvertFieldLabel(kind schema.GroupVersionKind, label, value string) (string, string, error) {
	if label == "metadata.name" || c.namespaced && label == "metadata.namespace" ||
		c.selectable[kind.GroupVersion()].Has(label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

func (c *converter) Convert(in, out, hint any) error {
	_, fromScale := in.(*autoscalingv1.Scale)
	_, toScale := out.(*autoscalingv1.Scale)
	if fromScale || toScale {
		return scaleScheme.Convert(in, out, hint)
	}
	from, ok := in.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("input type %T in not valid for unstructured conversion to %T", in, out)
	}
	to, ok := out.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("output type %T in not valid for unstructured conversion from %T", out, in)
	}
	converted, err := c.ConvertToVersion(from, to.GroupVersionKind().GroupVersion())
	if err != nil {
		return err
	}
	to.SetUnstructuredContent(converted.(runtime.Unstructured).UnstructuredContent())
	return nil
}

func (c *converter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, fmt.Errorf("%v is unstructured and is not suitable for converting to %q", from.String(), target)
	}
	if _, scale := in.(*autoscalingv1.Scale); scale {
		return scaleScheme.ConvertToVersion(in, target)
	}
	if !c.versions.Has(to.GroupVersion()) {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to.GroupVersion().String())
	}
	if !c.versions.Has(from.GroupVersion()) {
		return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from.GroupVersion().String())
	}
	if list, ok := in.(*unstructured.UnstructuredList); ok {
		for i := range list.Items {
			if gv := list.Items[i].GroupVersionKind().GroupVersion(); !c.versions.Has(gv) {
				return nil, fmt.Errorf("request to convert CR list failed, list index %d has invalid group/version: %s", i,
					gv.String())
			}
		}
	}
	return c.convert(in, to.GroupVersion())
}

// safeConverter is a converter that does not modify its arguments.
type safeConverter struct{ *converter }

func (c safeConverter) Convert(in, out, hint any) error {
	object, ok := in.(runtime.Object)
	if !ok {
		return fmt.Errorf("input type %T in not valid for object conversion", in)
	}
	return c.converter.Convert(object.DeepCopyObject(), out, hint)
}

func (c safeConverter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	return c.converter.ConvertToVersion(in.DeepCopyObject(), target)
}

// conversionWebhook converts custom resources with a webhook.
type conversionWebhook struct {
	ctx      context.Context // ends with the server
	client   *rest.RESTClient
	versions []string // versions of ConversionReview that the webhook accepts
}

func (s *Server) newConversionWebhook(crd *apiextensionsv1.CustomResourceDefinition) (*conversionWebhook, error) {
	clients, err := webhook.NewClientManager(
		[]schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion},
		apiextensionsv1beta1.AddToScheme, apiextensionsv1.AddToScheme,
	)
	if err != nil {
		return nil, err
	}
	s.connect(&clients)
	given := *crd.Spec.Conversion.Webhook.ClientConfig
	if len(bytes.TrimSpace(given.CABundle)) == 0 {
		given.CABundle = nil
	}
	client, err := clients.HookClient(clientConfig("conversion_webhook_for_"+crd.Name, admissionv1.WebhookClientConfig{
		URL: given.URL, Service: (*admissionv1.ServiceReference)(given.Service), CABundle: given.CABundle}))
	if err != nil {
		return nil, err
	}
	return &conversionWebhook{s.ctx, client, crd.Spec.Conversion.Webhook.ConversionReviewVersions}, nil
}

// convert converts an object, or those objects of a list that have another version, with one request.
func (c *conversionWebhook) convert(object runtime.Object, target schema.GroupVersion) (runtime.Object, error) {
	list, isList := object.(*unstructured.UnstructuredList)
	var originals []*unstructured.Unstructured
	if isList {
		for i := range list.Items {
			if list.Items[i].GetAPIVersion() != target.String() {
				originals = append(originals, &list.Items[i])
			}
		}
		list.SetAPIVersion(target.String())
	} else if u := object.(*unstructured.Unstructured); u.GetAPIVersion() != target.String() {
		originals = append(originals, u)
	}
	if len(originals) == 0 {
		return object, nil
	}
	kind := originals[0].GroupVersionKind()
	converted, err := c.ask(originals, target)
	if err != nil {
		return nil, fmt.Errorf("conversion webhook for %v failed: %v", kind, err)
	}
	if len(converted) != len(originals) {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", kind, len(converted),
			len(originals))
	}
	for i, original := range originals {
		what, err := accept(original, converted[i], target)
		if err != nil {
			if isList {
				what = strings.Replace(what, "object", "converted object", 1)
			}
			return nil, fmt.Errorf("conversion webhook for %v returned invalid %s: %w", kind,
				strings.Replace(what, "#", strconv.Itoa(i), 1), err)
		}
	}
	return object, nil
}

// ask sends objects to the webhook and returns the objects in the response.
func (c *conversionWebhook) ask(originals []*unstructured.Unstructured,
	target schema.GroupVersion) ([]runtime.RawExtension, error) {
	question := &apiextensionsv1.ConversionRequest{DesiredAPIVersion: target.String(), UID: uuid.NewUUID()}
	for _, original := range originals {
		question.Objects = append(question.Objects, runtime.RawExtension{Object: original})
	}
	version := slices.IndexFunc(c.versions, builtin.IsReviewVersion)
	if version < 0 {
		return nil, errors.New("no supported conversion review versions")
	}
	var response *apiextensionsv1.ConversionResponse
	if c.versions[version] == "v1" {
		review := &apiextensionsv1.ConversionReview{Request: question, Response: &apiextensionsv1.ConversionResponse{}}
		answer := &apiextensionsv1.ConversionReview{}
		if err := c.client.Post().Body(review).Do(c.ctx).Into(answer); err != nil {
			return nil, err
		}
		if want := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview"); answer.GroupVersionKind() != want {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want, answer.GroupVersionKind())
		}
		response = answer.Response
	} else { // upstream checks neither the kind nor the UID of this version
		review := &apiextensionsv1beta1.ConversionReview{Request: (*apiextensionsv1beta1.ConversionRequest)(question),
			Response: &apiextensionsv1beta1.ConversionResponse{}}
		answer := &apiextensionsv1beta1.ConversionReview{}
		if err := c.client.Post().Body(review).Do(c.ctx).Into(answer); err != nil {
			return nil, err
		}
		if response = (*apiextensionsv1.ConversionResponse)(answer.Response); response != nil {
			response.UID = question.UID
		}
	}
	switch {
	case response == nil:
		return nil, errors.New("no response provided")
	case response.UID != question.UID:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", question.UID, response.UID)
	case response.Result.Status == metav1.StatusSuccess:
		return response.ConvertedObjects, nil
	case response.Result.Message != "":
		return nil, errors.New(response.Result.Message)
	}
	return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", response.Result.Status)
}

// accept returns the result of a conversion with the metadata of the original, except labels and annotations. With an
// error, it returns a description of the invalid part, in which # means the index of the object.
func accept(original *unstructured.Unstructured, raw runtime.RawExtension,
	target schema.GroupVersion) (what string, err error) {
	converted := &unstructured.Unstructured{}
	if err := converted.UnmarshalJSON(raw.Raw); err != nil {
		return "object at index #", err
	}
	if gv := converted.GroupVersionKind().GroupVersion(); gv != target {
		return "object at index #", fmt.Errorf("invalid groupVersion (expected %v, received %v)", target, gv)
	}
	if want, got := original.GetKind(), converted.GetKind(); want != got {
		return "object at index #", fmt.Errorf("invalid kind (expected %v, received %v)", want, got)
	}
	for _, p := range []struct{ what, want, got string }{
		{"name", original.GetName(), converted.GetName()},
		{"namespace", original.GetNamespace(), converted.GetNamespace()},
		{"UID", string(original.GetUID()), string(converted.GetUID())},
	} {
		if p.want != p.got {
			return "object", fmt.Errorf("must have the same %s: %v != %v", p.what, p.want, p.got)
		}
	}
	return "metadata", restoreMetadata(original, converted)
}

func restoreMetadata(original, converted *unstructured.Unstructured) error {
	answered, ok := converted.Object["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", converted.Object["metadata"])
	}
	metadata, _ := original.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, name := range []string{"labels", "annotations"} {
		value, ok := answered[name]
		if !ok || value == nil {
			delete(metadata, name)
			continue
		}
		texts, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, value)
		}
		for key, text := range texts {
			if _, ok := text.(string); !ok {
				return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, key, text)
			}
		}
		metadata[name] = texts
	}
	converted.Object["metadata"] = metadata
	original.Object = converted.Object
	return nil
}
