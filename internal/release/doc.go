// Package release makes of config/ what others install an operator from: one file with all objects ([PlanInstaller]), or a
// Helm chart ([PlanChart]). Both are the objects that kustomize builds of config/default, so that there is one place where an
// operator's deployment is declared; no file of config/ is changed.
//
// A chart has a template for each object, which with the values of its values.yaml is that object again. What an
// administrator decides is a value. The files of a chart that somebody has edited stay as they are, and values.yaml gets the
// keys that are new.
package release
