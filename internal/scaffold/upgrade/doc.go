// Package upgrade brings a project to the templates, the runtime and the modules of the running kctrl. [Plan] merges
// files that the user has edited, and leaves those that are an API.
package upgrade
