package main

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const kctrlSide = "kctrl"

// followByKctrl caches objects of prototype's type, which it reads in one of formats.
func followByKctrl[T object.Object](prototype T, formats ...client.Format) follow {
	return func(ctx context.Context, server *server, seen func()) (func() error, error) {
		live, err := client.New(config(), client.Options{Scheme: scheme(), Mapper: mapper(),
			HTTPClient: &http.Client{Transport: server}})
		if err != nil {
			return nil, err
		}
		watcher, err := client.NewListWatcher(live, prototype, client.Scope{Formats: formats})
		if err != nil {
			return nil, err
		}
		inf := informer.New(watcher, informer.Options[T]{Name: "replayed"})
		inf.AddHandler(func(informer.Event[T]) { seen() })
		return func() error {
			go func() { _ = inf.Run(ctx) }()
			return nil
		}, nil
	}
}

func config() *rest.Config { return &rest.Config{Host: "http://in.memory", QPS: -1} }

// scheme returns a scheme with the replayed kinds.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // fails in every run or in none
		}
	}
	return s
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(v1.GroupVersion.WithKind("Widget"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return m
}
