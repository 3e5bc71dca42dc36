// Package wire compares decoding of lists and watches by kctrl, apimachinery's codec, the standard library and
// go-json-experiment. One run decodes the same objects from memory with each of them. Run it with
//
//	go test ./wire -run '^$' -bench . -benchtime 5x
package wire
