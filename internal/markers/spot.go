package markers

// spot is where a marker stands.
type spot int

const (
	spotCounts      spot = iota // where controller-gen looks
	spotFunc                    // in the comment of a function
	spotBody                    // inside a function
	spotValue                   // in the comment of a constant, variable or import, or among them
	spotGroup                   // in the comment of a group of types
	spotLineEnd                 // behind code
	spotAfterFields             // behind the last field of a struct
	spotDetached                // another comment stands between the marker and what it could describe
	spotBlock                   // in a /* comment */
)

// describe says where the marker stands, to follow "is ignored ".
func (s spot) describe() string {
	switch s {
	case spotFunc:
		return "in the comment of a function"
	case spotBody:
		return "inside a function"
	case spotValue:
		return "in the comment of a constant, variable or import"
	case spotGroup:
		return "in the comment of a group of types"
	case spotLineEnd:
		return "at the end of a line"
	case spotAfterFields:
		return "behind the last field of a struct"
	case spotDetached:
		return "so far from what it describes"
	case spotBlock:
		return "in a /* comment */"
	}
	return ""
}
