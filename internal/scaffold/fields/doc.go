// Package fields makes the fields of a kind from what flags say of them, as in
//
//	--field size:int32,min=1,default=3 --field template.image:string,minLength=1 --field 'tags:[]string,maxItems=5'
//
// [Parse] reads such flags into a [Model]: a tree of fields with their types and constraints, all of which agree with each other.
// From it come the Go types with their markers ([Model.Spec] and so on), an object whose values the schema accepts, the same
// object as Go for tests, and what is checked of paths into it: print columns and the scale subresource.
//
// A type is a row of one table (types.go), and so is a constraint (constraints.go). Every mistake is a *diagnostic.Error that
// quotes the flag and the part of it that is wrong.
package fields
