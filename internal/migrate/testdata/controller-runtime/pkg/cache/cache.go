package cache

type Options struct{}
