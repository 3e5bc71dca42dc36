// Package render returns the files of a project from PROJECT.
//
// A feature is a part of a kind, such as its types, a controller, a webhook, a policy or a conversion. Each feature
// declares its files, the lists that contain them, and its setup in the manager in one place. [Outline] returns the
// files without content. [Render] writes all features to an empty tree, and depends only on its arguments. Commands
// that add a feature to a project write the same files to their plan ([BeginWork]).
//
// The types of a second or later version are the only exception: they start as a copy of the user's types.
package render
