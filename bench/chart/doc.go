// Package chart renders the charts of kctrl build chart with Helm's library and compares them with the output of
// kustomize.
package chart
