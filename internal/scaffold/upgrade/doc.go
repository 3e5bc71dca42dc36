// Package upgrade updates a project to the templates, the runtime and the modules of the running kctrl. [Plan] merges
// files that the user has edited, and does not change types and samples.
package upgrade
