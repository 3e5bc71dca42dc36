// Package fields creates the fields of a kind from flags such as
//
//	--field size:int32,min=1,default=3 --field template.image:string,minLength=1 --field 'tags:[]string,maxItems=5'
//
// [Parse] parses the flags into a [Model], which is a tree of fields with types and consistent constraints. A model
// provides the Go types with their markers ([Model.Golang]), an object that the schema accepts, and the same object as
// Go code for tests. It also checks the paths of print columns and of the scale subresource.
//
// The table in types.go has a row for each type, and the table in constraints.go has a row for each constraint. Errors
// are *diagnostic.Error values that quote the flag and the invalid part.
package fields
