// Package verdict checks the CRDs of one run of generators before they are written.
//
// It checks the output of the CRD generator, or the result of post-processing if a project has any. It reports problems
// at the Go source that causes them.
package verdict

import (
	"bytes"
	"errors"
	"go/token"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// Checker collects the problems of the CRDs of one run. The zero value checks CRDs when they are generated.
type Checker struct {
	// Later defers the checks to [Checker.CheckFiles], for CRDs that are changed after they are generated.
	Later bool
	// LeaveRules omits the problems of validation rules, which the caller checks.
	LeaveRules bool
	// Warn receives parts of CRDs that have no effect. Nil disables this check.
	Warn func(*diagnostic.Error)

	made map[string]generator.Explain // by the name of a generated CRD
	errs []error
}

// Check checks a CRD, or keeps it for CheckFiles. It is the Check of [generator.Input].
func (c *Checker) Check(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
	if !c.Later {
		c.check(crd, explain)
		return
	}
	if c.made == nil {
		c.made = map[string]generator.Explain{}
	}
	c.made[crd.Name] = explain
}

// groupless is the problem of a kind in a package without a group.
var groupless = definition.Problem{
	Path: definition.Path{Steps: []string{"spec", "group"}, Version: -1, Index: -1}, Code: definition.CodeName,
	Message: "Required value: the package declares no group, so API servers refuse the CRD",
	Hint:    "write // +groupName=<group> above the package clause, or leave the package out of --paths",
}

func (c *Checker) check(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
	if crd.Spec.Group == "" {
		// The kind may belong to another project that needs no CRD.
		if c.Warn != nil {
			c.Warn(explain(groupless))
		}
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
	for _, p := range definition.Dead(crd, problems) {
		c.Warn(explain(p))
	}
}

// crdKind occurs in every file with a CRD.
var crdKind = []byte("kind: CustomResourceDefinition")

// CheckFiles checks the CRDs in post-processed files, if Later is set. Problems of CRDs that were not generated are
// reported at their file.
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
				continue // postprocessing reports these
			}
			explain, found := c.made[crd.Name]
			if !found {
				explain = func(p definition.Problem) *diagnostic.Error {
					e := &diagnostic.Error{Code: p.Code, Message: crd.Name + " " + p.Text(), Hint: p.Hint}
					e.Pos.Filename = file.Path
					return e
				}
			}
			c.check(crd, explain)
		}
	}
}

// noType is part of the error about a schema without a type, which is caused by an invalid Go type.
const noType = "must not be empty for specified object fields"

// Err joins the problems for which API servers reject the CRDs. It omits problems on lines with other errors of the
// run, which have the same cause.
func (c *Checker) Err(others error) error {
	reported := map[token.Position]bool{}
	for _, err := range diagnostic.All(others) {
		if _, ok := errors.AsType[*diagnostic.Error](err); ok {
			reported[diagnostic.LineOf(err)] = true
		}
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(c.errs), func(err error) bool {
		e, ok := errors.AsType[*diagnostic.Error](err)
		return ok && (reported[diagnostic.LineOf(e)] || len(reported) > 0 && strings.Contains(e.Message, noType))
	})...)
}
