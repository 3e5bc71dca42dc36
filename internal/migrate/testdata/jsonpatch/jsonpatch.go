// Package jsonpatch has the signatures of the library by which controller-runtime says patches, and does nothing.
package jsonpatch

type JsonPatchOperation = Operation

type Operation struct {
	Operation string
	Path      string
	Value     any
}

func NewOperation(op, path string, value any) Operation { return Operation{} }

func CreatePatch(a, b []byte) ([]Operation, error) { return nil, nil }
