// Package release packages an operator for distribution: one file with all objects ([PlanInstaller]), or a Helm chart
// ([PlanChart]). Both contain the objects that kustomize builds from config/default, so an operator's deployment is
// declared in one place. No file of config/ changes.
//
// A chart has a template for each object. With the chart's own values.yaml, each template renders that object again. The
// values hold an administrator's decisions. A chart that is written again keeps edited templates, and values.yaml gets
// only the new keys.
package release
