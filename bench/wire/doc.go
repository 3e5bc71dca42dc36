// Package wire measures the decoding of lists and watches beside apimachinery's codec, the standard library and
// go-json-experiment: the same objects, from memory, in one run. Run it with
//
//	go test ./wire -run '^$' -bench . -benchtime 5x
package wire
