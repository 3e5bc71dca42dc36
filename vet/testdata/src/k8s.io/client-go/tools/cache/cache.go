// Package cache is a stub.
package cache

type Store interface {
	Add(obj interface{}) error
	List() []interface{}
	GetByKey(key string) (item interface{}, exists bool, err error)
}

type Indexer interface {
	Store
	ByIndex(name, value string) ([]interface{}, error)
}

type ResourceEventHandlerFuncs struct {
	AddFunc    func(obj interface{})
	UpdateFunc func(oldObj, newObj interface{})
	DeleteFunc func(obj interface{})
}
