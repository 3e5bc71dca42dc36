package crd

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

// printer formats definitions concurrently, because that takes longer than all other steps. Only one goroutine may use
// it, and that goroutine calls wait at the end.
type printer struct {
	ctx     genall.GenerationContext
	header  string
	options crd.Generator
	// slots limits the number of definitions that are formatted at once.
	slots   chan struct{}
	running sync.WaitGroup
	printed []*printed
}

type printed struct {
	documents []artifact.File
	err       error
}

// print starts to format a definition. The caller must not change the definition afterwards.
func (p *printer) print(definition apiextensionsv1.CustomResourceDefinition) {
	of := &printed{}
	p.printed = append(p.printed, of)
	p.slots <- struct{}{}
	p.running.Go(func() {
		of.documents, of.err = printDefinition(definition, p.header, p.options)
		<-p.slots
	})
}

// wait writes all definitions in their order, up to the first error.
func (p *printer) wait() error {
	p.running.Wait()
	for _, of := range p.printed {
		if of.err != nil {
			return of.err
		}
		for _, f := range of.documents {
			if err := p.writeFile(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *printer) writeFile(f artifact.File) error {
	out, err := p.ctx.Open(nil, f.Path)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Content)
	return errors.Join(err, out.Close())
}

// marshalDefinition returns the YAML of a definition in a version of CustomResourceDefinition.
func marshalDefinition(definition apiextensionsv1.CustomResourceDefinition, version string,
	options crd.Generator) ([]byte, error) {
	text, written, err := writeDefinition(definition, version, options)
	if err != nil || written {
		return text, err
	}
	fields, err := fieldsOf(definition, version, options)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(fields)
}

// writeDefinition is like marshalDefinition without the library. It reports false if the library has to write the
// definition. The schemas, which are most of a definition, are not converted, because that does not change them.
func writeDefinition(definition apiextensionsv1.CustomResourceDefinition, version string,
	options crd.Generator) (text []byte, written bool, err error) {
	all := definition.Spec.Versions
	definition.Spec.Versions = slices.Clone(all)
	for i := range all {
		if all[i].Schema == nil || all[i].Schema.OpenAPIV3Schema == nil {
			return nil, false, nil
		}
		definition.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{}
	}
	fields, err := fieldsOf(definition, version, options)
	if err != nil {
		return nil, false, err
	}
	for i, v := range fields["spec"].(map[string]any)["versions"].([]any) {
		v.(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": all[i].Schema.OpenAPIV3Schema}
	}
	text, written = writeYAML(fields)
	return text, written, nil
}

// fieldsOf returns the fields of a definition in a version of CustomResourceDefinition. The conversion through the
// internal version sets the API server's defaults.
func fieldsOf(definition apiextensionsv1.CustomResourceDefinition, version string,
	options crd.Generator) (map[string]any, error) {
	converted, err := crd.AsVersion(definition, schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: version})
	if err != nil {
		return nil, &diagnostic.Error{
			Message: "cannot write CRDs in version " + version,
			Hint:    "v1 is the only version there is",
			Class:   diagnostic.ErrUsage,
			Cause:   err,
		}
	}
	text, err := json.Marshal(converted)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status") // only the API server writes it
	if value := options.DeprecatedV1beta1CompatibilityPreserveUnknownFields; value != nil {
		fields["spec"].(map[string]any)["preserveUnknownFields"] = *value
	}
	return fields, genall.TransformRemoveCreationTimestamp(fields)
}
