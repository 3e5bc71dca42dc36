// Package library stands for any library that is not migrated and wants what clients of Kubernetes have.
package library

import "k8s.io/client-go/tools/record"

func Tell(r record.EventRecorder) {}
