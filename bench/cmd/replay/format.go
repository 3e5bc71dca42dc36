package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/runtime/client"
)

// format is an encoding, and the kind whose objects are replayed in it.
type format struct {
	name   string
	accept string // media type that the client must accept
	list   string // Content-Type of lists, and of watches
	watch  string
	kctrl  follow
	peer   follow
	encode func() encoder
}

// formats are JSON for a custom resource, which controller-runtime reads only in JSON, and protobuf for a built-in
// kind.
var formats = []format{
	{
		name: "JSON", accept: string(client.JSON), list: string(client.JSON), watch: string(client.JSON),
		kctrl: followByKctrl(&v1.Widget{}), peer: followByPeer(&v1.Widget{}), encode: newJSON,
	},
	{
		name: "protobuf", accept: string(client.Protobuf), list: string(client.Protobuf),
		watch: string(client.Protobuf) + ";stream=watch",
		kctrl: followByKctrl(&corev1.Pod{}), peer: followByPeer(&corev1.Pod{}), encode: newProtobuf,
	},
}

func formatOf(name string) (format, error) {
	for _, f := range formats {
		if f.name == name {
			return f, nil
		}
	}
	return format{}, fmt.Errorf("unknown format %q", name)
}

// bodies are responses of a server. They are mapped from files and therefore not part of the heap.
type bodies struct {
	list    []byte // all objects
	initial []byte // the objects as initial events, and the bookmark that ends them
	events  []byte // one change of each object
}

// The file names.
const (
	listFile    = "list"
	initialFile = "initial"
	eventsFile  = "events"
)

// open maps the bodies in a directory.
func (f format) open(dir string) (b bodies, err error) {
	for name, into := range map[string]*[]byte{listFile: &b.list, initialFile: &b.initial, eventsFile: &b.events} {
		if *into, err = mapped(filepath.Join(dir, name)); err != nil {
			return b, err
		}
	}
	return b, nil
}

func mapped(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_POPULATE)
}
