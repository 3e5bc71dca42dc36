package main

import (
	"context"
	"net/http"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const peerSide = "peer"

// followByPeer caches objects of prototype's type.
func followByPeer(prototype client.Object) follow {
	return func(ctx context.Context, server *server, seen func()) (func() error, error) {
		informers, err := cache.New(config(), cache.Options{Scheme: scheme(), Mapper: mapper(),
			HTTPClient: &http.Client{Transport: server}})
		if err != nil {
			return nil, err
		}
		return func() error {
			go func() { _ = informers.Start(ctx) }()
			inf, err := informers.GetInformer(ctx, prototype, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { seen() },
				UpdateFunc: func(any, any) { seen() },
			})
			return err
		}, nil
	}
}
