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
		Tool struct {
			Driver struct {
				Name  string      `json:"name"`
				Rules []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID  string `json:"ruleId,omitempty"`
		Level   string `json:"level"`
		Message struct {
			Text string `json:"text"`
		} `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI       string `json:"uri"`
				URIBaseID string `json:"uriBaseId"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// printSARIF prints findings as a SARIF log. Code hosting services display its results next to the source lines.
func printSARIF(out io.Writer, found []finding) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.Rules = "kctrl", []sarifRule{}
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
	result := sarifResult{RuleID: f.Code, Level: f.Severity}
	result.Message.Text = f.Message
	if f.Hint != "" {
		result.Message.Text += "\nhint: " + f.Hint
	}
	if f.File == "" {
		return result
	}
	var at sarifLocation
	at.Physical.Artifact.URI, at.Physical.Artifact.URIBaseID = f.File, "%SRCROOT%"
	if f.Line > 0 {
		at.Physical.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
	}
	result.Locations = []sarifLocation{at}
	return result
}
