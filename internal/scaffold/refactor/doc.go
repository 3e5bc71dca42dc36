// Package refactor brings a project from one state to another with the same kinds under other names or in other
// directories. Files that nobody has edited become those of the new state; in all others imports, identifiers,
// markers and groups follow by syntax and types.
package refactor
