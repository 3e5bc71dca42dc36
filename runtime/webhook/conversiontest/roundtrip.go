// Package conversiontest tests that conversions lose no data:
//
//	func TestConversionLosesNothing(t *testing.T) {
//		conversiontest.RoundTrip(t, conversion.NewSpoke(v1FromV2, v1ToV2))
//	}
//
// Use it only in tests.
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

// Option configures [RoundTrip].
type Option func(*options)

type options struct {
	runs int
	fill map[reflect.Type]func(r *rand.Rand, v reflect.Value)
}

// Runs sets the number of objects that are generated for each version. The default is 1000.
func Runs(n int) Option { return func(o *options) { o.runs = n } }

// Fill makes fill generate the values of type T. Use it for an enum, or for a type whose fields exclude each other.
// fill receives the zero value, and its result must depend only on r.
func Fill[T any](fill func(r *rand.Rand, v *T)) Option {
	return func(o *options) {
		o.fill[reflect.TypeFor[T]()] = func(r *rand.Rand, v reflect.Value) { fill(r, v.Addr().Interface().(*T)) }
	}
}

// RoundTrip converts random hubs to the version of spoke and back, and random objects of that version to the hub and
// back. It reports the smallest counterexample that it finds. Every run generates the same objects.
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

// trip is a conversion from one version to another and back.
type trip struct {
	name          string
	start, middle func() object.Object // return new objects
	there, back   func(from, to object.Object) error
}

// search returns a report of the smallest object that does not survive the trip, or "".
func (p trip) search(ctx context.Context, o options) string {
	for seed := range o.runs {
		if ctx.Err() != nil {
			return ctx.Err().Error()
		}
		g := generator{Rand: rand.New(rand.NewPCG(uint64(seed), 0)), fill: o.fill}
		obj := p.start()
		g.value(reflect.ValueOf(obj).Elem(), 0)
		obj = p.decoded(obj)
		if p.fails(obj) == "" {
			continue
		}
		return p.fails(shrink(obj, func(candidate object.Object) bool { return p.fails(candidate) != "" }))
	}
	return ""
}

// decoded returns obj in the form in which a webhook receives it.
func (p trip) decoded(obj object.Object) object.Object {
	fresh := p.start()
	recode(obj, fresh)
	return fresh
}

// recode sets to, which must be empty, to the decoded JSON of from.
func recode(from, to any) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(fmt.Sprintf("conversiontest: %T does not go through JSON: %v", from, err))
	}
}

// fails returns the reason why obj does not survive the trip, or "".
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

func textOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v (%v)", v, err)
	}
	return string(text)
}
