// Package verdict checks the CRDs of one run of generators before they are written.
//
// A CRD is checked as the CRD generator makes it, or, where a project post-processes manifests, as it is after that.
// Problems are placed at the Go source that they come from.
package verdict

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// Checker collects the problems of the CRDs of one run. Its zero value checks CRDs when they are made.
type Checker struct {
	// Later leaves the checks to [Checker.CheckFiles], for CRDs that do not stay as they are made.
	Later bool
	// LeaveRules leaves out the problems of validation rules: the caller checks these itself.
	LeaveRules bool
	// Warn receives parts of CRDs that have no effect. Nil means that nobody looks for them.
	Warn func(*diagnostic.Error)

	made map[string]made
	errs []error
}

// made is a CRD that a generator has made.
type made struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	explain generator.Explain
}

// Check checks a CRD, or keeps it for CheckFiles. It is the Check of [generator.Input].
func (c *Checker) Check(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
	if !c.Later {
		c.check(crd, explain)
		return
	}
	if c.made == nil {
		c.made = map[string]made{}
	}
	c.made[crd.Name] = made{crd, explain}
}

func (c *Checker) check(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
	if crd.Spec.Group == "" {
		c.groupless(crd, explain)
		return
	}
	problems, err := definition.Refused(crd)
	if err != nil {
		c.errs = append(c.errs, err)
	}
	for _, p := range problems {
		if !c.LeaveRules || p.Code != definition.CodeRule {
			c.errs = append(c.errs, explain(p))
		}
	}
	if c.Warn == nil {
		return
	}
	for _, p := range definition.Besides(problems, definition.Dead(crd)) {
		c.Warn(explain(p))
	}
}

// groupless warns of a kind in a package that does not say its group. It may well be a kind of somebody else, of which
// nobody wants a CRD.
func (c *Checker) groupless(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
	if c.Warn == nil {
		return
	}
	c.Warn(explain(definition.Problem{
		Path: definition.Path{Steps: []string{"spec", "group"}, Version: -1, Index: -1}, Code: definition.CodeName,
		Message: "Required value: the package says no group, so that API servers refuse the CRD",
		Hint:    "write // +groupName=<group> above the package clause, or leave the package out of --paths",
	}))
}

// crdKind is in every file that has a CRD.
var crdKind = []byte("kind: CustomResourceDefinition")

// CheckFiles checks the CRDs in files that post-processing has made, if the checks were left to it. Problems of CRDs
// that no generator has made are placed at their file.
func (c *Checker) CheckFiles(files []artifact.File) {
	if !c.Later {
		return
	}
	for _, file := range files {
		for document := range bytes.SplitSeq(file.Content, []byte("\n---\n")) {
			if !bytes.Contains(document, crdKind) {
				continue
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(document, crd); err != nil || crd.Kind != "CustomResourceDefinition" {
				continue // of which whoever declares what becomes of manifests is told elsewhere
			}
			from, found := c.made[crd.Name]
			if !found {
				from.explain = func(p definition.Problem) *diagnostic.Error {
					e := &diagnostic.Error{Code: p.Code, Message: crd.Name + " " + p.Text(), Hint: p.Hint}
					e.Pos.Filename = file.Path
					return e
				}
			}
			c.check(crd, from.explain)
		}
	}
}

// noType is the reason for which a schema without a type is refused: that of a field whose type is wrong in Go.
const noType = "must not be empty for specified object fields"

// Err returns the problems for which API servers refuse the CRDs, joined. Problems on a line for which other errors of
// the run are reported are left out: they follow from these.
func (c *Checker) Err(others error) error {
	type line struct {
		file string
		line int
	}
	reported := map[line]bool{}
	for _, err := range diagnostic.All(others) {
		if e, ok := errors.AsType[*diagnostic.Error](err); ok {
			reported[line{e.Pos.Filename, e.Pos.Line}] = true
		}
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(c.errs), func(err error) bool {
		e, ok := errors.AsType[*diagnostic.Error](err)
		return ok && (reported[line{e.Pos.Filename, e.Pos.Line}] || len(reported) > 0 && strings.Contains(e.Message, noType))
	})...)
}
