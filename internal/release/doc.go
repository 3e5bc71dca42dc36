// Package release packages an operator for distribution, as one file with all objects ([PlanInstaller]) or as a Helm
// chart ([PlanChart]). Both contain the objects that kustomize builds from config/default, so an operator's deployment
// is declared in one place. The package does not change files in config/.
//
// A chart has a template for each object. With the chart's own values.yaml, each template renders exactly that object.
// The values are the settings that an administrator may change. If the chart already exists, edited templates are kept,
// and values.yaml gets only the new keys.
package release
