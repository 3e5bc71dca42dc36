// Package wire compares how kctrl, apimachinery's codec, the standard library and go-json-experiment decode lists and
// watches. One run decodes the same objects from memory with each decoder. Run it with
//
//	go test ./wire -run '^$' -bench . -benchtime 5x
package wire
