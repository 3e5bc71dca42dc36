package main

import (
	"io"
	"maps"
	"slices"
)

// These types are the parts of a SARIF 2.1.0 log that kctrl writes.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId,omitempty"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// printSARIF prints findings as a SARIF log. Code hosting services display its results next to the source lines.
func printSARIF(out io.Writer, found []finding) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "kctrl", Rules: []sarifRule{}}}, Results: []sarifResult{}}
	codes := map[string]bool{}
	for _, f := range found {
		if f.Code != "" {
			codes[f.Code] = true
		}
		run.Results = append(run.Results, newSARIFResult(f))
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{code})
	}
	return encodeJSON(out, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func newSARIFResult(f finding) sarifResult {
	result := sarifResult{RuleID: f.Code, Level: f.Severity, Message: sarifMessage{f.Message}}
	if f.Hint != "" {
		result.Message.Text += "\nhint: " + f.Hint
	}
	if f.File == "" {
		return result
	}
	place := sarifPhysical{Artifact: sarifArtifact{URI: f.File, URIBaseID: "%SRCROOT%"}}
	if f.Line > 0 {
		place.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
	}
	result.Locations = []sarifLocation{{place}}
	return result
}
