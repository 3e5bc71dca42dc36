package builder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// WebhookBuilder builds the webhooks of a kind.
type WebhookBuilder[T runtime.Object] struct {
	mgr                         manager.Manager
	object                      T
	hasObject                   bool
	defaulter                   admission.Defaulter[T]
	customDefaulter             admission.CustomDefaulter
	defaulterOptions            []admission.DefaulterOption
	validator                   admission.Validator[T]
	customValidator             admission.CustomValidator
	newConverter                func(*runtime.Scheme) (conversion.Converter, error)
	defaulterPath, validatePath string // empty means the default path
	customPath                  string // of the only webhook
	recoverPanic                *bool
	logConstructor              func(base logr.Logger, req *admission.Request) logr.Logger
	contextFunc                 func(context.Context, *http.Request) context.Context
	gvk                         schema.GroupVersionKind
}

// WebhookManagedBy returns a builder of the webhooks of the kind of object. The webhook server of m serves them.
func WebhookManagedBy[T runtime.Object](m manager.Manager, object T) *WebhookBuilder[T] {
	return &WebhookBuilder[T]{mgr: m, object: object, hasObject: any(object) != nil}
}

// WithCustomDefaulter sets a defaulter of objects of any type.
//
// Deprecated: use WithDefaulter.
func (blder *WebhookBuilder[T]) WithCustomDefaulter(
	defaulter admission.CustomDefaulter, opts ...admission.DefaulterOption,
) *WebhookBuilder[T] {
	blder.customDefaulter, blder.defaulterOptions = defaulter, opts
	return blder
}

// WithDefaulter sets the defaulter.
func (blder *WebhookBuilder[T]) WithDefaulter(
	defaulter admission.Defaulter[T], opts ...admission.DefaulterOption,
) *WebhookBuilder[T] {
	blder.defaulter, blder.defaulterOptions = defaulter, opts
	return blder
}

// WithCustomValidator sets a validator of objects of any type.
//
// Deprecated: use WithValidator.
func (blder *WebhookBuilder[T]) WithCustomValidator(validator admission.CustomValidator) *WebhookBuilder[T] {
	blder.customValidator = validator
	return blder
}

// WithValidator sets the validator.
func (blder *WebhookBuilder[T]) WithValidator(validator admission.Validator[T]) *WebhookBuilder[T] {
	blder.validator = validator
	return blder
}

// WithConverter sets the converter between the versions of the kind.
func (blder *WebhookBuilder[T]) WithConverter(
	converterConstructor func(*runtime.Scheme) (conversion.Converter, error),
) *WebhookBuilder[T] {
	blder.newConverter = converterConstructor
	return blder
}

// WithLogConstructor sets the function that creates the loggers of requests.
func (blder *WebhookBuilder[T]) WithLogConstructor(
	logConstructor func(base logr.Logger, req *admission.Request) logr.Logger,
) *WebhookBuilder[T] {
	blder.logConstructor = logConstructor
	return blder
}

// WithContextFunc sets a function that changes the context of requests.
func (blder *WebhookBuilder[T]) WithContextFunc(
	contextFunc func(context.Context, *http.Request) context.Context,
) *WebhookBuilder[T] {
	blder.contextFunc = contextFunc
	return blder
}

// RecoverPanic sets whether a panic of a handler becomes an error.
func (blder *WebhookBuilder[T]) RecoverPanic(recoverPanic bool) *WebhookBuilder[T] {
	blder.recoverPanic = &recoverPanic
	return blder
}

// WithCustomPath sets the path of a kind with one webhook. Controller-runtime removed it after v0.23.
//
// Deprecated: use WithValidatorCustomPath or WithDefaulterCustomPath.
func (blder *WebhookBuilder[T]) WithCustomPath(customPath string) *WebhookBuilder[T] {
	blder.customPath = customPath
	return blder
}

// WithValidatorCustomPath sets the path of the validating webhook.
func (blder *WebhookBuilder[T]) WithValidatorCustomPath(customPath string) *WebhookBuilder[T] {
	blder.validatePath = customPath
	return blder
}

// WithDefaulterCustomPath sets the path of the mutating webhook.
func (blder *WebhookBuilder[T]) WithDefaulterCustomPath(customPath string) *WebhookBuilder[T] {
	blder.defaulterPath = customPath
	return blder
}

// Complete registers the webhooks.
func (blder *WebhookBuilder[T]) Complete() error {
	if !blder.hasObject {
		return errors.New("NewWebhookManagedBy() must be called with a valid object")
	}
	var err error
	if blder.gvk, err = apiutil.GVKForObject(blder.object, blder.mgr.GetScheme()); err != nil {
		return err
	}
	if blder.logConstructor == nil {
		blder.logConstructor = blder.log
	}
	if blder.customPath != "" {
		defaults := blder.defaulter != nil || blder.customDefaulter != nil
		if validates := blder.validator != nil || blder.customValidator != nil; defaults && validates {
			return errors.New("WithCustomPath sets the path of one webhook, and the kind has two: " +
				"use WithDefaulterCustomPath and WithValidatorCustomPath")
		}
		blder.defaulterPath, blder.validatePath = blder.customPath, blder.customPath
	}
	defaulting, err := blder.defaulting()
	if err != nil {
		return err
	}
	if err := blder.register(defaulting, "mutat", blder.defaulterPath); err != nil {
		return err
	}
	validating, err := blder.validating()
	if err != nil {
		return err
	}
	if err := blder.register(validating, "validat", blder.validatePath); err != nil {
		return err
	}
	return blder.registerConversion()
}

// log is the default log constructor.
func (blder *WebhookBuilder[T]) log(base logr.Logger, req *admission.Request) logr.Logger {
	logger := base.WithValues("webhookGroup", blder.gvk.Group, "webhookKind", blder.gvk.Kind)
	if req == nil {
		return logger
	}
	return logger.WithValues(blder.gvk.Kind, klog.KRef(req.Namespace, req.Name),
		"namespace", req.Namespace, "name", req.Name,
		"resource", req.Resource, "user", req.UserInfo.Username, "requestID", req.UID)
}

func (blder *WebhookBuilder[T]) defaulting() (*admission.Webhook, error) {
	scheme := blder.mgr.GetScheme()
	switch {
	case blder.defaulter != nil && blder.customDefaulter != nil:
		return nil, errors.New("only one of Defaulter or CustomDefaulter can be set")
	case blder.defaulter != nil:
		return admission.WithDefaulter(scheme, blder.defaulter, blder.defaulterOptions...), nil
	case blder.customDefaulter != nil:
		return admission.WithCustomDefaulter(scheme, blder.object, blder.customDefaulter, blder.defaulterOptions...), nil
	}
	return nil, nil
}

func (blder *WebhookBuilder[T]) validating() (*admission.Webhook, error) {
	scheme := blder.mgr.GetScheme()
	switch {
	case blder.validator != nil && blder.customValidator != nil:
		return nil, errors.New("only one of Validator or CustomValidator can be set")
	case blder.validator != nil:
		return admission.WithValidator(scheme, blder.validator), nil
	case blder.customValidator != nil:
		return admission.WithCustomValidator(scheme, blder.object, blder.customValidator), nil
	}
	return nil, nil
}

var validPath = regexp.MustCompile(`^((/[a-zA-Z0-9-_]+)+|/)$`)

// register registers a webhook, which may be nil. The stem is "mutat" or "validat", from which the path is formed.
func (blder *WebhookBuilder[T]) register(hook *admission.Webhook, stem, path string) error {
	if hook == nil {
		return nil
	}
	if path == "" {
		path = fmt.Sprintf("/%se-%s-%s-%s", stem, strings.ReplaceAll(blder.gvk.Group, ".", "-"), blder.gvk.Version,
			strings.ToLower(blder.gvk.Kind))
	} else if !validPath.MatchString(path) {
		return fmt.Errorf("customPath %q does not match this regex: %s", path, validPath)
	}
	hook.LogConstructor, hook.WithContextFunc = blder.logConstructor, blder.contextFunc
	hook.RecoverPanic = blder.recoverPanic
	if blder.isHandled(path) {
		return nil
	}
	log.Info(fmt.Sprintf("Registering a %sing webhook", stem), "GVK", blder.gvk, "path", path)
	blder.mgr.GetWebhookServer().Register(path, hook)
	return nil
}

// isHandled reports whether a handler is registered at a path.
func (blder *WebhookBuilder[T]) isHandled(path string) bool {
	mux := blder.mgr.GetWebhookServer().WebhookMux()
	if mux == nil {
		return false
	}
	_, pattern := mux.Handler(&http.Request{URL: &url.URL{Path: path}})
	return pattern == path
}

func (blder *WebhookBuilder[T]) registerConversion() error {
	scheme, registry := blder.mgr.GetScheme(), blder.mgr.GetConverterRegistry()
	if blder.newConverter != nil {
		converter, err := blder.newConverter(scheme)
		if err != nil {
			return err
		}
		if err := registry.RegisterConverter(blder.gvk.GroupKind(), converter); err != nil {
			return err
		}
	} else if convertible, err := conversion.IsConvertible(scheme, blder.object); err != nil {
		log.Error(err, "conversion check failed", "GVK", blder.gvk)
		return err
	} else if !convertible {
		return nil
	}
	const path = "/convert"
	if !blder.isHandled(path) {
		blder.mgr.GetWebhookServer().Register(path, conversion.NewWebhookHandler(scheme, registry))
	}
	log.Info("Conversion webhook enabled", "GVK", blder.gvk)
	return nil
}
