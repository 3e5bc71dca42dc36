package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// Image is an image that has the manager and nothing else.
type Image struct {
	// Dir is the absolute path of the project, and Package that of the manager's main package in it, such as ./cmd.
	Dir, Package string
	// Platforms are those that the manager is compiled for, such as linux/amd64. With several the image is an index.
	Platforms []string
	// Name is what the image is called where the archive is loaded, such as example.com/guestbook:v1. It may be empty.
	Name string
	// Authorities is a file in PEM with certificates that the manager trusts besides that of its API server. It may be empty.
	Authorities string
}

// PlanImage compiles a manager and plans the file that is its image: an archive of an OCI layout. The same source makes the same
// bytes, wherever its folder is. It returns the digest of the image.
//
// The image begins with nothing: a manager is one static file, the API server's authority comes to its pod with the service account,
// and a base would have to come from a network. It runs as the user 65532.
func PlanImage(ctx context.Context, p *plan.Plan, file string, i Image) (digest.Digest, error) {
	if err := replaceable(p, file); err != nil {
		return "", err
	}
	platforms, err := parsePlatforms(i.Platforms)
	if err != nil {
		return "", err
	}
	base, err := i.base()
	if err != nil {
		return "", err
	}
	l := &imageLayout{blobs: map[digest.Digest][]byte{}}
	var manifests []oci.Descriptor
	for _, platform := range platforms {
		manager, err := i.compile(ctx, platform)
		if err != nil {
			return "", err
		}
		manifest, err := l.image(platform.Platform, base, []entry{{name: "manager", mode: 0o755, content: manager}})
		if err != nil {
			return "", err
		}
		manifests = append(manifests, manifest)
	}
	top, err := l.top(manifests)
	if err != nil {
		return "", err
	}
	content, err := l.archive(top, i.Name)
	if err != nil {
		return "", err
	}
	return top.Digest, p.WriteFile(plan.File{Path: file, Content: content, Policy: plan.Own})
}

// replaceable refuses to write an image over what is none.
func replaceable(p *plan.Plan, file string) error {
	have, err := p.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if header, err := tar.NewReader(bytes.NewReader(have)).Next(); err != nil || header.Name != oci.ImageLayoutFile {
		return &diagnostic.Error{
			Pos: token.Position{Filename: file}, Message: "is there, and is no image",
			Hint: "move it away, or name another file",
		}
	}
	return nil
}

// platform is one with what the go command calls it.
type platform struct {
	oci.Platform
	environment []string
}

// parsePlatforms reads linux/amd64, linux/arm/v7 and the like.
func parsePlatforms(names []string) ([]platform, error) {
	var all []platform
	for _, name := range names {
		parts := strings.Split(name, "/")
		p := platform{Platform: oci.Platform{OS: parts[0]}}
		if len(parts) > 1 {
			p.Architecture = parts[1]
		}
		if len(parts) > 2 {
			p.Variant = parts[2]
		}
		level := map[string]string{"amd64": "GOAMD64=v1", "arm": "GOARM=7", "arm64": "GOARM64=v8.0"}[p.Architecture]
		number, err := strconv.Atoi(strings.TrimPrefix(p.Variant, "v"))
		switch {
		case len(parts) < 2 || len(parts) > 3 || p.OS != "linux" || p.Architecture == "":
			err = errors.New("want linux/amd64, linux/arm64 or another architecture of linux: the image has no other system")
		case p.Variant == "" || p.Architecture == "arm64" && p.Variant == "v8":
			err = nil
		case p.Architecture == "amd64" && err == nil && number >= 1 && number <= 4:
			level = "GOAMD64=" + p.Variant
		case p.Architecture == "arm" && err == nil && number >= 5 && number <= 7:
			level = "GOARM=" + strconv.Itoa(number)
		default:
			err = errors.New("there are linux/arm/v5 to v7, and linux/amd64/v1 to v4")
		}
		if err != nil {
			return nil, &diagnostic.Error{Message: "--platform " + diagnostic.Quote(name) + ": " + err.Error(), Class: diagnostic.ErrUsage}
		}
		p.environment = []string{"GOOS=" + p.OS, "GOARCH=" + p.Architecture}
		if level != "" {
			p.environment = append(p.environment, level)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, &diagnostic.Error{Message: "--platform names none", Hint: "--platform linux/amd64,linux/arm64", Class: diagnostic.ErrUsage}
	}
	return all, nil
}

// compile returns the manager for a platform.
func (i Image) compile(ctx context.Context, p platform) ([]byte, error) {
	folder, err := os.MkdirTemp("", "kctrl-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	built := filepath.Join(folder, "manager")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", built, i.Package)
	cmd.Dir = i.Dir
	cmd.Env = append(os.Environ(), append([]string{"CGO_ENABLED=0"}, p.environment...)...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, i.compileError(said.String(), err)
	}
	content, err := os.ReadFile(built)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.HasPrefix(content, []byte("\x7fELF")) {
		return nil, &diagnostic.Error{Message: i.Package + " is no program", Hint: "name the package of the manager: --package ./cmd"}
	}
	return content, err
}

// compileError returns what the go command says, one error for each that has a place.
func (i Image) compileError(said string, cause error) error {
	var all []error
	for line := range strings.Lines(said) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 4)
		if len(parts) < 4 {
			continue
		}
		row, err := strconv.Atoi(parts[1])
		column, err2 := strconv.Atoi(parts[2])
		if err == nil && err2 == nil {
			all = append(all, &diagnostic.Error{
				Pos:     token.Position{Filename: filepath.ToSlash(parts[0]), Line: row, Column: column},
				Message: strings.TrimSpace(parts[3]),
			})
		}
	}
	if len(all) > 0 {
		return errors.Join(all...)
	}
	said = strings.TrimSpace(said)
	if said == "" {
		said = cause.Error()
	}
	return &diagnostic.Error{
		Message: "go build " + i.Package + ": " + diagnostic.OneLine(said),
		Hint:    "run go build " + i.Package + " in the project, and mend what it says",
	}
}

const (
	nonRoot     = 65532 // as in the images of distroless
	nonRootUser = "65532:65532"
)

// base returns the layer that does not change when the manager does: what programs expect of a system.
func (i Image) base() ([]entry, error) {
	base := []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nonRoot)},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0:root:/:/none\nnonroot:x:%d:%[1]d:nonroot:/tmp:/none\n", nonRoot)},
		{name: "tmp/", mode: 0o1777},
	}
	if i.Authorities == "" {
		return base, nil
	}
	content, err := os.ReadFile(i.Authorities)
	if err != nil {
		return nil, diagnostic.AtFile(i.Authorities, "cannot read", err)
	}
	if !bytes.Contains(content, []byte("-----BEGIN CERTIFICATE-----")) {
		return nil, &diagnostic.Error{
			Pos: token.Position{Filename: i.Authorities}, Message: "has no certificate in PEM",
			Hint: "name a file such as /etc/ssl/certs/ca-certificates.crt",
		}
	}
	return slices.Insert(base, 1,
		entry{name: "etc/ssl/", mode: 0o755}, entry{name: "etc/ssl/certs/", mode: 0o755},
		entry{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: content},
	), nil
}

// entry is a file of a layer or an archive, or a folder if its name ends in a slash. All are root's, and from the beginning of time.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// archived returns entries as a tar.
func archived(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// imageLayout is an OCI layout in the making.
type imageLayout struct {
	blobs map[digest.Digest][]byte
}

func (l *imageLayout) add(mediaType string, content []byte) oci.Descriptor {
	d := digest.FromBytes(content)
	l.blobs[d] = content
	return oci.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(content))}
}

func (l *imageLayout) addJSON(mediaType string, value any) (oci.Descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return oci.Descriptor{}, err
	}
	return l.add(mediaType, content), nil
}

// layer adds a layer, and returns the digest of what is in it too.
func (l *imageLayout) layer(entries []entry) (oci.Descriptor, digest.Digest, error) {
	content, err := archived(entries)
	if err != nil {
		return oci.Descriptor{}, "", err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		return oci.Descriptor{}, "", err
	}
	if err := w.Close(); err != nil {
		return oci.Descriptor{}, "", err
	}
	return l.add(oci.MediaTypeImageLayerGzip, b.Bytes()), digest.FromBytes(content), nil
}

// image adds an image of one platform.
func (l *imageLayout) image(p oci.Platform, layers ...[]entry) (oci.Descriptor, error) {
	created := time.Unix(0, 0).UTC()
	config := oci.Image{
		Created: &created, Platform: p,
		Config: oci.ImageConfig{User: nonRootUser, Entrypoint: []string{"/manager"}, WorkingDir: "/"},
		RootFS: oci.RootFS{Type: "layers"},
	}
	manifest := oci.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageManifest}
	for _, entries := range layers {
		layer, diff, err := l.layer(entries)
		if err != nil {
			return layer, err
		}
		manifest.Layers = append(manifest.Layers, layer)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, diff)
		config.History = append(config.History, oci.History{Created: &created, CreatedBy: "kctrl build image"})
	}
	var err error
	if manifest.Config, err = l.addJSON(oci.MediaTypeImageConfig, config); err != nil {
		return oci.Descriptor{}, err
	}
	descriptor, err := l.addJSON(oci.MediaTypeImageManifest, manifest)
	descriptor.Platform = &p
	return descriptor, err
}

// top returns what the name of the image stands for: an image, or an index of those of several platforms.
func (l *imageLayout) top(manifests []oci.Descriptor) (oci.Descriptor, error) {
	if len(manifests) == 1 {
		return manifests[0], nil
	}
	return l.addJSON(oci.MediaTypeImageIndex, oci.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Manifests: manifests,
	})
}

// archive returns the layout as one file.
func (l *imageLayout) archive(top oci.Descriptor, name string) ([]byte, error) {
	if name != "" {
		top.Annotations = map[string]string{oci.AnnotationRefName: tagOf(name), "io.containerd.image.name": name}
	}
	index, err := json.Marshal(oci.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Manifests: []oci.Descriptor{top},
	})
	if err != nil {
		return nil, err
	}
	version, err := json.Marshal(oci.ImageLayout{Version: oci.ImageLayoutVersion})
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: oci.ImageLayoutFile, mode: 0o644, content: version},
		{name: oci.ImageIndexFile, mode: 0o644, content: index},
		{name: oci.ImageBlobsDir + "/", mode: 0o755},
		{name: oci.ImageBlobsDir + "/sha256/", mode: 0o755},
	}
	for _, d := range slices.Sorted(maps.Keys(l.blobs)) {
		entries = append(entries, entry{name: oci.ImageBlobsDir + "/sha256/" + d.Encoded(), mode: 0o644, content: l.blobs[d]})
	}
	return archived(entries)
}

// tagOf returns the tag of an image's name: what layouts call it.
func tagOf(name string) string {
	name, _, _ = strings.Cut(name, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[i+1:]
	}
	return "latest"
}
