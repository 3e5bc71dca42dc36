// Package render returns the files of a project from PROJECT.
//
// A feature is a part of a kind: its types, controllers, webhooks, a policy, a conversion. Each feature declares in one
// place its files, the lists that name them, and its setup in the manager. [Outline] returns the files without content.
// [Render] writes all features into an empty tree, and depends only on its arguments. Commands that add a feature to a
// project write the same files into their plan ([BeginWork]).
//
// The types of a further version are the exception: they start as a copy of the user's types.
package render
