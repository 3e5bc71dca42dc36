// Package release makes of config/ what others install an operator from: one file with all objects ([PlanInstaller]), a Helm
// chart ([PlanChart]), or a bundle for the Operator Lifecycle Manager ([PlanBundle]). All are the objects that kustomize builds of
// config/default, so that there is one place where an operator's deployment is declared; no file of config/ is changed.
//
// A chart has a template for each object, which with the values of its values.yaml is that object again. What an
// administrator decides is a value. A bundle has each object in the place where OLM looks for it. The files of both that somebody
// has edited stay as they are; values.yaml gets the keys that are new, and a bundle begins with what the user says of the operator.
package release
