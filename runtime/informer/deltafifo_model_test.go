package informer_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// D01, D02, D03, D04, F01, F02, F03, F08
//
// A consumer that now and then stands still for hundreds of deltas ends with the state of the producer, never sees an
// incarnation follow another without the deletion between them, and at each version it reaches has all there was at
// that version.
func TestQueueLeadsTheConsumerToTheStateOfTheProducer(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { produceAndConsume(t, rand.New(rand.NewPCG(seed, 11))) })
	}
}

func produceAndConsume(t *testing.T, random *rand.Rand) {
	p := &producer{random: random, state: make(map[object.Key]obj), last: make(map[object.Key]int), keys: 3 + random.IntN(40)}
	c := &consumer{t: t, producer: p, state: make(map[object.Key]obj), latest: make(map[object.Key]step)}
	f := informer.NewDeltaFIFO[obj](func(key object.Key) bool { return c.state[key] != nil })
	c.fifo = f
	f.Push(p.replaced())
	for range 12 {
		for range random.IntN(700) {
			f.Push(p.next())
		}
		if f.Len() > 257+4*p.keys {
			t.Fatalf("%d deltas of %d objects wait", f.Len(), p.keys)
		}
		for n := random.IntN(4); n > 0 && f.Len() > 0; n-- {
			_ = f.Pop(t.Context(), c.process)
		}
	}
	for f.Len() > 0 {
		_ = f.Pop(t.Context(), c.process)
	}
	compare(t, "consumer", c.state, p.state)
	if c.version != p.version {
		t.Errorf("consumer at version %d, producer at %d", c.version, p.version)
	}
}

// producer makes deltas, and remembers when each key changed.
type producer struct {
	random  *rand.Rand
	keys    int
	version int
	uid     int
	state   map[object.Key]obj
	changes []step
	last    map[object.Key]int // the version of the last change
}

// step is one change: of key, at version, to an object or to nothing.
type step struct {
	key     object.Key
	version int
	object  obj
}

func (p *producer) next() informer.Delta[obj] {
	p.version++
	name := fmt.Sprint("o", p.random.IntN(p.keys))
	key := keyOf(name)
	old := p.state[key]
	switch dice := p.random.IntN(400); {
	case dice == 0:
		return p.replaced()
	case dice < 10:
		return informer.Delta[obj]{Type: informer.Bookmark, ResourceVersion: strconv.Itoa(p.version)}
	case old == nil:
		p.uid++
		return p.set(key, informer.Added, thing(name, strconv.Itoa(p.uid), p.version))
	case dice < 120:
		d := p.set(key, informer.Deleted, nil)
		d.Object = thing(name, string(old.UID), p.version)
		if dice < 30 {
			d.Object, d.Key, d.FinalStateUnknown = nil, key, true
		}
		return d
	default:
		return p.set(key, informer.Updated, thing(name, string(old.UID), p.version))
	}
}

func (p *producer) set(key object.Key, kind informer.EventType, o obj) informer.Delta[obj] {
	p.state[key] = o
	if o == nil {
		delete(p.state, key)
	}
	p.changes, p.last[key] = append(p.changes, step{key, p.version, o}), p.version
	return informer.Delta[obj]{Type: kind, Object: o, ResourceVersion: strconv.Itoa(p.version)}
}

func (p *producer) replaced() informer.Delta[obj] {
	d := informer.Delta[obj]{Type: informer.Replaced, ResourceVersion: strconv.Itoa(p.version)}
	for _, o := range p.state {
		d.Objects = append(d.Objects, o)
	}
	return d
}

// consumer applies deltas and checks each of them.
type consumer struct {
	t        *testing.T
	producer *producer
	fifo     *informer.DeltaFIFO[obj]
	state    map[object.Key]obj
	version  int
	past     int                 // how many changes of the producer are not after version
	latest   map[object.Key]step // the last of those, by key
}

func (c *consumer) process(deltas informer.Deltas[obj]) {
	for range c.producer.random.IntN(2) * 300 {
		c.fifo.Push(c.producer.next())
	}
	for _, d := range deltas {
		c.apply(d)
		version, _ := strconv.Atoi(d.ResourceVersion)
		if version < c.version {
			c.t.Fatalf("version %d after %d", version, c.version)
		}
		c.version = version
	}
	for changes := c.producer.changes; c.past < len(changes) && changes[c.past].version <= c.version; c.past++ {
		c.latest[changes[c.past].key] = changes[c.past]
	}
	for key, s := range c.latest {
		have, has := c.state[key]
		switch {
		case has && versionNumber(have) < s.version:
			c.t.Fatalf("at version %d the consumer has %s of %s, which changed at %d", c.version, versionOf(have), key.Name, s.version)
		case !has && s.object != nil && c.producer.last[key] == s.version:
			c.t.Fatalf("at version %d the consumer does not have %s", c.version, key.Name)
		}
	}
}

func (c *consumer) apply(d informer.Delta[obj]) {
	switch d.Type {
	case informer.Replaced:
		clear(c.state)
		for _, o := range d.Objects {
			c.state[object.KeyOf(o)] = o
		}
	case informer.Added, informer.Updated:
		if have := c.state[d.Key]; have != nil && have.UID != d.Object.UID {
			c.t.Fatalf("%s, but the consumer has incarnation %s", short(d), have.UID)
		}
		c.state[d.Key] = d.Object
	case informer.Deleted:
		delete(c.state, d.Key)
	}
}

func versionNumber(o obj) int {
	n, _ := strconv.Atoi(o.ResourceVersion)
	return n
}
