// Package conversiontest proves in a test that conversions lose nothing:
//
//	func TestNothingIsLost(t *testing.T) {
//		conversiontest.RoundTrip(t, conversion.NewSpoke(v1FromV2, v1ToV2))
//	}
//
// It is for tests alone.
package conversiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
)

// Option changes what [RoundTrip] does.
type Option func(*options)

type options struct {
	runs int
	fill map[reflect.Type]func(r *rand.Rand, v reflect.Value)
}

// Runs says how many objects of each version are converted, instead of 1000.
func Runs(n int) Option { return func(o *options) { o.runs = n } }

// Fill lets fill make the values of the type T, such as those of an enum, or those of which not all fields may be set at once. It gets the zero
// value, and must decide by r alone.
func Fill[T any](fill func(r *rand.Rand, v *T)) Option {
	return func(o *options) {
		o.fill[reflect.TypeFor[T]()] = func(r *rand.Rand, v reflect.Value) { fill(r, v.Addr().Interface().(*T)) }
	}
}

// RoundTrip converts random hubs to the version of spoke and back, and random objects of that version to the hub and back, and fails the
// test unless each comes back as it was. It reports the smallest object that it finds for which it does not. The same objects are made in every
// run of a test.
func RoundTrip[H object.Object](t testing.TB, spoke conversion.Spoke[H], opts ...Option) {
	t.Helper()
	o := options{runs: 1000, fill: map[reflect.Type]func(*rand.Rand, reflect.Value){}}
	for _, opt := range opts {
		opt(&o)
	}
	ctx := t.Context()
	newHub := func() object.Object { return object.New[H]() }
	newSpoke := func() object.Object { return spoke.New() }
	fromHub := func(from, to object.Object) error { return spoke.FromHub(ctx, from.(H), to) }
	toHub := func(from, to object.Object) error { return spoke.ToHub(ctx, from, to.(H)) }
	for _, trip := range []trip{
		{name: "hub to spoke and back", start: newHub, middle: newSpoke, there: fromHub, back: toHub},
		{name: "spoke to hub and back", start: newSpoke, middle: newHub, there: toHub, back: fromHub},
	} {
		if failure := trip.search(ctx, o); failure != "" {
			t.Errorf("%s:\n%s", trip.name, failure)
		}
	}
}

// trip is a way from one version to another and back.
type trip struct {
	name          string
	start, middle func() object.Object // new objects
	there, back   func(from, to object.Object) error
}

// search returns a report about the smallest object that does not come back, or nothing.
func (p trip) search(ctx context.Context, o options) string {
	for seed := range o.runs {
		if ctx.Err() != nil {
			return ctx.Err().Error()
		}
		g := generator{Rand: rand.New(rand.NewPCG(uint64(seed), 0)), fill: o.fill}
		obj := p.start()
		g.object(obj)
		obj = p.decoded(obj)
		if p.fails(obj) == "" {
			continue
		}
		return p.fails(shrink(obj, func(candidate object.Object) bool { return p.fails(candidate) != "" }))
	}
	return ""
}

// decoded returns obj as a webhook gets it.
func (p trip) decoded(obj object.Object) object.Object {
	fresh := p.start()
	recode(obj, fresh)
	return fresh
}

// recode sets to, which is empty, to what from is on the wire.
func recode(from, to any) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(fmt.Sprintf("conversiontest: %T does not go through JSON: %v", from, err))
	}
}

// fails returns why obj does not come back, or nothing.
func (p trip) fails(obj object.Object) (why string) {
	before := textOf(obj)
	var between string
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprintf("panic: %v\nof      %s\nthrough %s", r, before, between)
		}
	}()
	middle, after := p.middle(), p.start()
	if err := p.there(p.decoded(obj), middle); err != nil {
		return fmt.Sprintf("there: %v\nof      %s", err, before)
	}
	between = textOf(middle)
	sent := p.middle()
	recode(middle, sent)
	if err := p.back(sent, after); err != nil {
		return fmt.Sprintf("back: %v\nof      %s\nthrough %s", err, before, between)
	}
	differences, err := admission.Diff([]byte(before), []byte(textOf(after)))
	if err != nil {
		return err.Error()
	}
	if len(differences) == 0 {
		return ""
	}
	var report strings.Builder
	for _, d := range differences {
		if d.Op == "remove" {
			fmt.Fprintf(&report, "%s: is gone\n", d.Path)
		} else {
			fmt.Fprintf(&report, "%s: is %s now\n", d.Path, d.Value)
		}
	}
	fmt.Fprintf(&report, "of      %s\nthrough %s\nto      %s", before, between, textOf(after))
	return report.String()
}

// textOf returns the JSON of an object.
func textOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v (%v)", v, err)
	}
	return string(text)
}
