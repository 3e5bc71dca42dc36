// Package chart renders the charts of kctrl build chart by Helm's own library, and compares them with what kustomize builds.
package chart
