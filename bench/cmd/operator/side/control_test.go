package side

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

func TestCommandsAreAnsweredInOrder(t *testing.T) {
	c := NewControl()
	c.Reconciled()
	names := map[string]int{}
	var answers strings.Builder
	err := c.Run(t.Context(), strings.NewReader("sample\ndrive 25 10\nsample\n"), &answers, func(w *v1.Widget) {
		names[w.Namespace+"/"+w.Name]++
		go c.Reconciled() // plays the role of a worker
	})
	if !errors.Is(err, ErrEnd) {
		t.Errorf("ended with %v", err)
	}
	decoder := json.NewDecoder(strings.NewReader(answers.String()))
	for _, want := range []int64{1, 26, 26} {
		var s Sample
		if err := decoder.Decode(&s); err != nil || s.Reconciles != want || s.CPU <= 0 {
			t.Errorf("got %+v, want %d reconciles, %v", s, want, err)
		}
	}
	if len(names) != 10 || names["team-00/widget-000000"] != 3 || names["team-09/widget-000009"] != 2 {
		t.Errorf("the events are of %v", names)
	}
}

func TestUnknownCommandIsAnError(t *testing.T) {
	err := NewControl().Run(t.Context(), strings.NewReader("dance\n"), &strings.Builder{}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "dance: ") {
		t.Errorf("got %v", err)
	}
}

func TestObserveSetsTheStatusOfTheSpec(t *testing.T) {
	w := &v1.Widget{}
	w.Generation = 3
	if Observed(w) {
		t.Error("observed before")
	}
	if Observe(w); !Observed(w) || len(w.Status.Conditions) != 1 || w.Status.Conditions[0].ObservedGeneration != 3 {
		t.Errorf("the status is %+v", w.Status)
	}
}
