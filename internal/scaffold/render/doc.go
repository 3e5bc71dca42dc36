// Package render returns a project from PROJECT.
//
// A feature is what a kind can have: its types, controllers, webhooks, a policy, a conversion. Each declares its
// files, the lists that name them, and what the manager sets up, in one place ([Outline] has the files). [Render]
// writes all features into an empty tree, and depends on its arguments alone. Commands that add a feature to a
// project write the same files into their plan ([BeginWork]).
//
// The types of a further version are the exception: they start as a copy of those that the user has.
package render
