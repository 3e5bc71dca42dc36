// Package fields creates the fields of a kind from flags such as
//
//	--field size:int32,min=1,default=3 --field template.image:string,minLength=1 --field 'tags:[]string,maxItems=5'
//
// [Parse] parses the flags into a [Model]: a tree of fields with types and consistent constraints. A model provides the
// Go types with their markers ([Model.Golang]), an object that the schema accepts, the same object as Go for tests, and
// checks of paths into it, for print columns and the scale subresource.
//
// Types are rows of a table in types.go, constraints rows of a table in constraints.go. Errors are *diagnostic.Error
// values that quote the flag and the invalid part.
package fields
