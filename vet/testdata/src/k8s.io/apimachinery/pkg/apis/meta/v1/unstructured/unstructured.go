// Package unstructured is a stub.
package unstructured

type Unstructured struct{ Object map[string]interface{} }

func (u *Unstructured) SetLabels(l map[string]string) {}
