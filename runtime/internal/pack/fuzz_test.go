package pack_test

import (
	"reflect"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// FuzzUnpack unpacks arbitrary bytes. Unpack returns an error, or an object that can be packed.
func FuzzUnpack(f *testing.F) {
	var packers []*pack.Packer[object.Object]
	for which, prototype := range prototypes() {
		p, err := pack.New(prototype)
		if err != nil {
			f.Fatal(err)
		}
		packers = append(packers, p)
		for seed := range uint64(5) {
			packed, err := p.Pack(random(prototype, seed))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(which), []byte(packed))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		p := packers[int(which)%len(packers)]
		packed := pack.Packed(data)
		_ = p.Key(packed)
		_ = packed.SameState(packed) && packed.SameObject(packed)
		obj, err := p.Unpack(packed)
		if err != nil {
			return
		}
		settled := false
		for range 2 { // a quantity may change its notation the first time
			again, err := p.Pack(obj)
			if err != nil {
				t.Fatalf("what was unpacked cannot be packed: %v", err)
			}
			before := obj
			if obj, err = p.Unpack(again); err != nil {
				t.Fatalf("what was packed cannot be unpacked: %v", err)
			}
			if stays := reflect.DeepEqual(before, obj) || hasNaN(obj); !stays && settled {
				t.Fatalf("it does not stay what it is\n%#v\n%#v", before, obj)
			}
			settled = true
		}
	})
}

// hasNaN reports whether v contains a NaN, since then it is not deeply equal to its copy.
func hasNaN(v object.Object) bool { return !reflect.DeepEqual(v, v.DeepCopyObject()) }
