package main

import (
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
)

// widgetEvent returns a watch event of an object.
func widgetEvent(name string, generation, observed int64) widgets.Event {
	var e widgets.Event
	e.Object.Metadata.Name, e.Object.Metadata.Generation = name, generation
	e.Object.Status.ObservedGeneration = observed
	return e
}

func TestLatencyIsMeasuredFromWriteToStatus(t *testing.T) {
	c := newChanges(2)
	c.watched(widgetEvent("a", 2, 1)) // may arrive before the write returns
	c.returned(widgetEvent("a", 2, 1).Object, time.Now())
	c.watched(widgetEvent("a", 2, 2))
	select {
	case <-c.done:
		t.Fatal("done before the other change has a status")
	default:
	}
	c.watched(widgetEvent("a", 2, 2)) // another change of the object, which does not count
	c.returned(widgetEvent("b", 2, 1).Object, time.Now())
	c.watched(widgetEvent("b", 2, 1))
	c.watched(widgetEvent("b", 2, 2))
	select {
	case <-c.done:
	default:
		t.Fatal("not done after the last status")
	}
	fromReturn, fromEvent := c.times(func(change) bool { return true })
	if len(fromReturn) != 2 || len(fromEvent) != 2 || fromReturn[0] <= 0 || fromEvent[0] <= 0 {
		t.Errorf("times are %v and %v", fromReturn, fromEvent)
	}
	if counted, _ := c.times(func(c change) bool { return c.returned.IsZero() }); len(counted) != 0 {
		t.Errorf("times of changes that do not count: %v", counted)
	}
}
