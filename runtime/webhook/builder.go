// Package webhook registers webhooks with a manager, in one statement per kind:
//
//	func (d *GuestbookDefaulter) SetupWithManager(m controller.Manager) error {
//		return webhook.For[*v1.Guestbook](m).WithDefaulter(d).WithValidator(v).Complete()
//	}
//
// It uses the paths of controller-gen's markers, such as /mutate-webapp-example-com-v1-guestbook,
// /validate-webapp-example-com-v1-guestbook and /convert. Packages admission and conversion document the guarantees for
// handlers, package server documents the limits of the server, and package manager its certificates.
package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Manager has the methods of a manager that webhooks use. *manager.Manager implements it.
type Manager interface {
	// Webhooks returns the webhook server.
	Webhooks() (*server.Server, error)
	Scheme() *runtime.Scheme
	Logger() *slog.Logger
}

// Builder configures the webhooks of the kind T. [Builder.Complete] reports all errors in the configuration.
type Builder[T object.Object] struct {
	manager   Manager
	prototype T
	mutating  chain[T]
	verifying chain[T]
	spokes    []conversion.Spoke[T]
	converts  bool // WithSpokes was called, possibly without spokes
	errs      []error
}

// chain has the handlers of one path.
type chain[T object.Object] struct {
	path     string
	handlers []func() (admission.Handler, error)
}

// For returns a builder of webhooks for the kind T, which is a pointer to a type in the manager's scheme, such as
// *webappv1.Guestbook. For a type that can have any kind, such as *unstructured.Unstructured, use [ForPrototype].
func For[T object.Object](m Manager) *Builder[T] {
	if form := reflect.TypeFor[T](); form.Kind() != reflect.Pointer {
		return &Builder[T]{manager: m, errs: []error{fmt.Errorf("For needs a pointer to a type of the scheme, not %s", form)}}
	}
	return ForPrototype(m, object.New[T]())
}

// ForPrototype returns a builder of webhooks for the kind of prototype. If prototype is an *unstructured.Unstructured,
// its apiVersion and kind must be set.
func ForPrototype[T object.Object](m Manager, prototype T) *Builder[T] {
	b := &Builder[T]{manager: m, prototype: prototype}
	gvk, err := object.GVK(prototype, m.Scheme())
	if err != nil {
		b.errs = append(b.errs, err)
	}
	b.mutating.path, b.verifying.path = MutatePath(gvk), ValidatePath(gvk)
	return b
}

// MutatePath returns the default path of the mutating webhook of a kind, such as /mutate-apps-v1-deployment.
func MutatePath(gvk schema.GroupVersionKind) string { return "/mutate-" + pathOf(gvk) }

// ValidatePath returns the default path of the validating webhook of a kind, such as /validate-apps-v1-deployment.
func ValidatePath(gvk schema.GroupVersionKind) string { return "/validate-" + pathOf(gvk) }

func pathOf(gvk schema.GroupVersionKind) string {
	return strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" + strings.ToLower(gvk.Kind)
}

// WithDefaulter adds defaulters, which change created and updated objects in order. It may be called again.
func (b *Builder[T]) WithDefaulter(defaulters ...admission.Defaulter[T]) *Builder[T] {
	return b.add(&b.mutating, func() (admission.Handler, error) {
		return admission.NewDefaulting(b.manager.Scheme(), b.prototype, defaulters...)
	})
}

// WithValidator adds validators, which review created, updated and deleted objects in order. It may be called again.
func (b *Builder[T]) WithValidator(validators ...admission.Validator[T]) *Builder[T] {
	return b.add(&b.verifying, func() (admission.Handler, error) {
		return admission.NewValidating(b.manager.Scheme(), b.prototype, validators...)
	})
}

// WithMutatingHandler adds a handler that is called after the defaulters and mutating handlers that were added earlier.
func (b *Builder[T]) WithMutatingHandler(h admission.Handler) *Builder[T] {
	return b.add(&b.mutating, func() (admission.Handler, error) { return h, nil })
}

// WithValidatingHandler adds a handler that is called after the validators and validating handlers added earlier.
func (b *Builder[T]) WithValidatingHandler(h admission.Handler) *Builder[T] {
	return b.add(&b.verifying, func() (admission.Handler, error) { return h, nil })
}

func (b *Builder[T]) add(c *chain[T], h func() (admission.Handler, error)) *Builder[T] {
	c.handlers = append(c.handlers, h)
	return b
}

// WithMutatePath sets the path for defaulters and mutating handlers. Use it if a kind has several mutating webhooks.
func (b *Builder[T]) WithMutatePath(path string) *Builder[T] {
	b.mutating.path = path
	return b
}

// WithValidatePath sets the path for validators and validating handlers, for a kind with several validating webhooks.
func (b *Builder[T]) WithValidatePath(path string) *Builder[T] {
	b.verifying.path = path
	return b
}

// WithSpokes adds conversions between the hub T and other versions of the kind. It may be called several times.
func (b *Builder[T]) WithSpokes(spokes ...conversion.Spoke[T]) *Builder[T] {
	b.spokes, b.converts = append(b.spokes, spokes...), true
	return b
}

// Complete registers all webhooks with the manager's server, or none. It returns all errors in the configuration.
func (b *Builder[T]) Complete() error {
	if len(b.mutating.handlers)+len(b.verifying.handlers) == 0 && !b.converts {
		b.errs = append(b.errs, errors.New("there is neither a defaulter nor a validator nor a spoke"))
	}
	if err := errors.Join(b.errs...); err != nil {
		return fmt.Errorf("webhook for %s: %w", reflect.TypeFor[T](), err)
	}
	s, err := b.manager.Webhooks()
	if err != nil {
		return err
	}
	mutating, err := b.reviewer(&b.mutating)
	verifying, wrong := b.reviewer(&b.verifying)
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	converter, converting := b.converter(s)
	owner := ownerOf(b.manager)
	undo, err := s.HandleAll(owner, slices.Concat(mutating, verifying, converting)...)
	if err != nil || converter == nil {
		return err
	}
	// This call is the last one, because it can fail and cannot be undone.
	if err := conversion.RegisterFor(converter, owner, b.manager.Scheme(), b.spokes...); err != nil {
		undo()
		return err
	}
	return nil
}

// ownerOf returns the owner of the registration, if it may register again, as a controller that a registry restarts.
func ownerOf(m Manager) (owner server.Owner) {
	if of, ok := m.(interface{ Owner() server.Owner }); ok {
		owner = of.Owner()
	}
	return owner
}

// converter returns the server's only converter and the endpoint of a new one, or nil if b has no spokes.
func (b *Builder[T]) converter(s *server.Server) (*conversion.Converter, []server.Endpoint) {
	if len(b.spokes) == 0 {
		return nil, nil
	}
	if converter, ok := s.At(conversion.Path).(*conversion.Converter); ok {
		return converter, nil
	}
	converter := conversion.New(b.manager.Logger())
	return converter, []server.Endpoint{{Path: conversion.Path, Handler: converter, MaxBytes: server.MaxConversion}}
}

// reviewer returns the endpoint of the handlers of a path, or none if the path has no handlers.
func (b *Builder[T]) reviewer(c *chain[T]) ([]server.Endpoint, error) {
	if len(c.handlers) == 0 {
		return nil, nil
	}
	var handlers []admission.Handler
	for _, newHandler := range c.handlers {
		h, err := newHandler()
		if err != nil {
			return nil, fmt.Errorf("webhook for %s: %w", reflect.TypeFor[T](), err)
		}
		handlers = append(handlers, h)
	}
	reviewer := admission.NewReviewer(admission.Chain(handlers...), b.manager.Logger())
	return []server.Endpoint{{Path: c.path, Handler: reviewer, MaxBytes: server.MaxReview}}, nil
}

// Handle serves a handler of any type at path, with bodies of at most [server.MaxReview] bytes.
func Handle(m Manager, path string, h http.Handler) error {
	s, err := m.Webhooks()
	if err != nil {
		return err
	}
	return s.HandleFor(ownerOf(m), path, h, server.MaxReview)
}
