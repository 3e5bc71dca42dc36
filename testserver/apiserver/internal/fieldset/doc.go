// Package fieldset says who manages which fields of an object, as managedFields have it, for objects whose every answer is certain.
//
// sigs.k8s.io/structured-merge-diff does so for all objects, by way of typed values and sets of paths: three quarters of what it
// takes is spent on bringing JSON into that form and back. A [Set] here is the JSON of fieldsV1 itself, and a [Type] the schema of
// that library, resolved once. [Type.Update] and [Type.Apply] are its operations of these names with what k8s.io/apimachinery does
// around them (strip, cap, sort).
//
// # Guarantees
//
// Every function reports whether its answer is certain; a certain answer is the library's, which the tests hold it to with random
// schemas, objects and managers. Not certain are nulls, duplicates, values that the schema does not have, managers of other versions,
// conflicts, fields that an applier drops, and lists whose items an applier brings into another order: for these ask the library.
//
// Nothing here changes what it is given; results share parts of it. Safe for concurrent use.
package fieldset
