package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	kctrl "github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// figure is an operation that is measured repeatedly.
type figure struct {
	name   string
	server bool   // the fake client has no equivalent
	fake   string // name of the equivalent figure of the fake client
	each   int    // operations in one call
	do     func(ctx context.Context, s *side) error
}

var figures = []figure{
	{"get", true, "", 1, func(ctx context.Context, s *side) error {
		return s.send(ctx, http.MethodGet, pathOf(listed)+"/widget-000007", "", "")
	}},
	{"create", true, "", 1, func(ctx context.Context, s *side) error {
		body, err := json.Marshal(widget(made, s.count))
		if err != nil {
			return err
		}
		return s.send(ctx, http.MethodPost, pathOf(made), "application/json", string(body))
	}},
	{"apply", true, "", 1, func(ctx context.Context, s *side) error {
		body := fmt.Sprintf(`{"apiVersion":"bench.example.com/v1","kind":"Widget","metadata":{"name":"widget-000008"},`+
			`"spec":{"replicas":%d}}`, s.count%1000)
		return s.send(ctx, http.MethodPatch, pathOf(listed)+"/widget-000008?fieldManager=one&force=true",
			"application/apply-patch+yaml", body)
	}},
	{"list of 1,000", true, "", 1, func(ctx context.Context, s *side) error {
		return s.send(ctx, http.MethodGet, pathOf(listed), "", "")
	}},
	{"watch event", true, "", many, func(ctx context.Context, s *side) error {
		return s.watch(ctx, s.before, many)
	}},
	{"get by controller-runtime's client", false, "get by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			return s.client.Get(ctx, object.Key{Namespace: listed, Name: "widget-000007"}, &v1.Widget{})
		}},
	{"create by controller-runtime's client", false, "create by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			return s.client.Create(ctx, widget(made, s.count))
		}},
	{"update by controller-runtime's client", false, "update by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			if s.mine == nil || s.updates != "peer" {
				s.mine, s.updates = &v1.Widget{}, "peer"
				if err := s.client.Get(ctx, object.Key{Namespace: listed, Name: "widget-000009"}, s.mine); err != nil {
					return err
				}
			}
			s.mine.Spec.Replicas = int32(s.count % 1000)
			return s.client.Update(ctx, s.mine)
		}},
	{"list of 1,000 by controller-runtime's client", false, "list of 1,000 by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			list := &v1.WidgetList{}
			if err := s.client.List(ctx, list, client.InNamespace(listed)); err != nil {
				return err
			}
			if len(list.Items) != many {
				return fmt.Errorf("listed %d objects", len(list.Items))
			}
			return nil
		}},
	{"get by kctrl's client", true, "get by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			return s.kctrl.Get(ctx, object.Key{Namespace: listed, Name: "widget-000007"}, &v1.Widget{})
		}},
	{"create by kctrl's client", true, "create by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			return s.kctrl.Create(ctx, widget(made, s.count))
		}},
	{"update by kctrl's client", true, "update by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			if s.mine == nil || s.updates != "kctrl" {
				s.mine, s.updates = &v1.Widget{}, "kctrl"
				if err := s.kctrl.Get(ctx, object.Key{Namespace: listed, Name: "widget-000009"}, s.mine); err != nil {
					return err
				}
			}
			s.mine.Spec.Replicas = int32(s.count % 1000)
			return s.kctrl.Update(ctx, s.mine)
		}},
	{"list of 1,000 by kctrl's client", true, "list of 1,000 by controller-runtime's client", 1,
		func(ctx context.Context, s *side) error {
			list := &v1.WidgetList{}
			if err := s.kctrl.List(ctx, list, kctrl.InNamespace(listed)); err != nil {
				return err
			}
			if len(list.Items) != many {
				return fmt.Errorf("listed %d objects", len(list.Items))
			}
			return nil
		}},
}

// measure returns the time of each figure in microseconds: wall time, and CPU time of the client and the server under
// the name with " CPU" appended.
func (s *side) measure(ctx context.Context, least time.Duration) (table.Figures, error) {
	found := table.Figures{}
	s.before = "" // fast servers discard old changes earlier
	for _, f := range figures {
		if f.server && s.http == nil {
			continue
		}
		took, used, err := s.time(ctx, f, least)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		found[f.name], found[f.name+cpu] = float64(took.Nanoseconds())/1e3, float64(used.Nanoseconds())/1e3
	}
	return found, nil
}

const cpu = " CPU"

// time repeats an operation for at least a duration, and returns the wall and CPU time of one operation. It regularly
// deletes the created objects, outside the measured time, so that fast servers do not have more objects than slow ones.
func (s *side) time(ctx context.Context, f figure, least time.Duration) (took, used time.Duration, err error) {
	const batch = 500
	done := time.Duration(0)
	for took < least {
		if err := s.tidy(ctx, f); err != nil {
			return 0, 0, err
		}
		before, err := s.cpu()
		if err != nil {
			return 0, 0, err
		}
		start := time.Now()
		for range batch {
			s.count++
			if err := f.do(ctx, s); err != nil {
				return 0, 0, err
			}
			done++
			if time.Since(start) > least {
				break
			}
		}
		took += time.Since(start)
		after, err := s.cpu()
		if err != nil {
			return 0, 0, err
		}
		used += after - before
	}
	done *= time.Duration(f.each)
	return took / done, used / done, nil
}

// cpu returns the CPU time of this process and of the server's processes.
func (s *side) cpu() (time.Duration, error) {
	total := process.CPU()
	for _, pid := range s.processes {
		used, err := process.CPUOf(pid)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// tidy deletes the created objects. If the figure measures watches, it instead updates all listed objects once, which
// produces the events.
func (s *side) tidy(ctx context.Context, f figure) error {
	if f.name != "watch event" {
		return s.client.DeleteAllOf(ctx, &v1.Widget{}, client.InNamespace(made))
	}
	if s.before != "" {
		return nil
	}
	list := &v1.WidgetList{}
	if err := s.client.List(ctx, list, client.InNamespace(listed)); err != nil {
		return err
	}
	s.before = list.ResourceVersion
	for i := range list.Items {
		list.Items[i].Annotations["bench.example.com/changed"] = list.ResourceVersion
		if err := s.client.Update(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
