// Package zapgrpc is there for go mod tidy, which looks at what tests of other modules import.
package zapgrpc
