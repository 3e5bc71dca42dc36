// Package gosource reads the Go source of a project with the changes of a plan on top: which directories belong to
// its modules, what packages declare and use ([GoSources], [Declarations]), the kinds of an API package
// ([ReadPackage]), and type errors ([TypeErrors]). It writes nothing.
package gosource
