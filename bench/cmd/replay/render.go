package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// encoder writes the responses of an API server in one format.
type encoder interface {
	// list writes a list of count objects.
	list(w io.Writer, count int) error
	// event writes an event of object i at a version. A bookmark event is the one that ends the initial events.
	event(w io.Writer, kind watch.EventType, i, version int) error
}

// render writes the bodies of size objects to files in a directory.
func (f format) render(dir string, size int) error {
	e := f.encode()
	return errors.Join(
		write(filepath.Join(dir, listFile), func(w io.Writer) error { return e.list(w, size) }),
		write(filepath.Join(dir, initialFile), func(w io.Writer) error {
			return errors.Join(events(w, e, watch.Added, size, 0), e.event(w, watch.Bookmark, 0, size+1))
		}),
		write(filepath.Join(dir, eventsFile), func(w io.Writer) error {
			return events(w, e, watch.Modified, size,
				size+1)
		}),
	)
}

func write(path string, body func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	return errors.Join(body(w), w.Flush(), file.Close())
}

func events(w io.Writer, e encoder, kind watch.EventType, count, version int) error {
	for i := range count {
		if err := e.event(w, kind, i, version+i+1); err != nil {
			return err
		}
	}
	return nil
}

// stored sets the metadata that a server sets.
func stored(o *metav1.ObjectMeta, i, version int) {
	o.UID, o.ResourceVersion, o.Generation = types.UID(fmt.Sprintf("2f0cb8b5-9a5b-4bd5-8c4b-%012x", i)),
		fmt.Sprint(version), 1
	o.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC))
}

// end makes o the object of the bookmark that ends the initial events.
func end(o *metav1.ObjectMeta, version int) {
	*o = metav1.ObjectMeta{ResourceVersion: fmt.Sprint(version),
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
}

// fieldsOf returns a widget as a map, whose keys the encoder sorts as the server does.
func fieldsOf(kind watch.EventType, i, version int) (map[string]any, error) {
	widget := widgets.New(i)
	stored(&widget.ObjectMeta, i, version)
	if kind == watch.Bookmark {
		widget = &v1.Widget{TypeMeta: widget.TypeMeta}
		end(&widget.ObjectMeta, version)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(widget)
}

// jsonEncoder writes fields in JSON.
type jsonEncoder struct{}

func newJSON() encoder { return jsonEncoder{} }

func (jsonEncoder) list(w io.Writer, count int) error {
	_, err := io.WriteString(w, `{"apiVersion":"bench.example.com/v1","items":[`)
	for i := 0; i < count && err == nil; i++ {
		if i > 0 {
			_, err = io.WriteString(w, ",")
		}
		var fields map[string]any
		var data []byte
		if fields, err = fieldsOf(watch.Added, i, i+1); err == nil {
			data, err = json.Marshal(fields)
		}
		if err == nil {
			_, err = w.Write(data)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, `],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"%d"}}`+"\n", count+1)
	}
	return err
}

func (jsonEncoder) event(w io.Writer, kind watch.EventType, i, version int) error {
	fields, err := fieldsOf(kind, i, version)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(map[string]any{"type": string(kind), "object": fields})
}

// protoEncoder writes pods in protobuf.
type protoEncoder struct{ runtime.Encoder }

func newProtobuf() encoder {
	s := scheme()
	return protoEncoder{protobuf.NewSerializer(s, s)}
}

func (p protoEncoder) list(w io.Writer, count int) error {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	list.ResourceVersion = fmt.Sprint(count + 1)
	for i := range count {
		list.Items = append(list.Items, *pod(i, i+1))
	}
	return p.Encode(list, w)
}

func (p protoEncoder) event(w io.Writer, kind watch.EventType, i, version int) error {
	o := pod(i, version)
	if kind == watch.Bookmark {
		o = &corev1.Pod{}
		end(&o.ObjectMeta, version)
	}
	o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	raw, err := runtime.Encode(p.Encoder, o)
	if err != nil {
		return err
	}
	frame, err := (&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}}).Marshal()
	if err == nil {
		_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	}
	return err
}

// pod returns a pod with about as much content as a widget.
func pod(i, version int) *corev1.Pod {
	widget := widgets.New(i)
	o := &corev1.Pod{ObjectMeta: widget.ObjectMeta}
	stored(&o.ObjectMeta, i, version)
	for _, c := range widget.Spec.Containers {
		container := corev1.Container{Name: c.Name, Image: c.Image, Args: c.Args}
		for _, v := range c.Env {
			container.Env = append(container.Env, corev1.EnvVar{Name: v.Name, Value: v.Value})
		}
		for _, port := range widget.Spec.Ports {
			container.Ports = append(container.Ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.Number,
				Protocol: corev1.ProtocolTCP})
		}
		o.Spec.Containers = append(o.Spec.Containers, container)
	}
	o.Spec.NodeName, o.Spec.ServiceAccountName, o.Status.Phase = "node-"+fmt.Sprint(i%100), "default", corev1.PodRunning
	for _, c := range widget.Status.Conditions {
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason,
			Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		})
	}
	o.Status.PodIP = widget.Status.Addresses[0]
	return o
}
