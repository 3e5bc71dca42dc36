package image_test

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built is what kctrl build image -o json says.
type built struct {
	File, Digest string
	Platforms    []string
}

// build makes the image of a new project.
func build(t *testing.T, dir string, args ...string) built {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	kctrl(t, dir, "init", "--domain", "example.com", "--repo", "example.com/site", "--project-name", "site")
	var b built
	if err := json.Unmarshal(kctrl(t, dir, append([]string{"build", "image", "-o", "json"}, args...)...), &b); err != nil {
		t.Fatal(err)
	}
	b.File = filepath.Join(dir, b.File)
	return b
}

func kctrl(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	program := os.Getenv("KCTRL")
	if program == "" {
		t.Fatal("set KCTRL to the path of kctrl, or run make test-image")
	}
	cmd := exec.Command(program, append([]string{"-C", dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return out
}

// open unpacks an archive and reads its layout.
func open(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	archive, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	dir := t.TempDir()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, 0o755)
		} else if content, readErr := io.ReadAll(reader); readErr == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// images returns those of a layout by their platform, and the digest and the annotations of what its name stands for.
func images(t *testing.T, index v1.ImageIndex) (map[string]v1.Image, v1.Descriptor) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v: the layout has %v", err, manifest)
	}
	top := manifest.Manifests[0]
	all := map[string]v1.Image{}
	if !top.MediaType.IsIndex() {
		image, err := index.Image(top.Digest)
		if err != nil {
			t.Fatal(err)
		}
		all[top.Platform.String()] = image
		return all, top
	}
	nested, err := index.ImageIndex(top.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(nested); err != nil {
		t.Error(err)
	}
	manifest, err = nested.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if all[m.Platform.String()], err = nested.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return all, top
}

// TestImageIsReadBack has the library check every digest, size and layer, and looks at what a container would see.
func TestImageIsReadBack(t *testing.T) {
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64, "linux/arm/v6": elf.EM_ARM}
	for _, platforms := range []string{"linux/amd64", "linux/arm64,linux/amd64,linux/arm/v6"} {
		t.Run(platforms, func(t *testing.T) {
			authorities := filepath.Join(t.TempDir(), "ca.pem")
			const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
			if err := os.WriteFile(authorities, []byte(pem), 0o600); err != nil {
				t.Fatal(err)
			}
			b := build(t, t.TempDir(), "--platform", platforms, "--image", "example.com:5000/a/site:v1", "--ca-certificates", authorities)
			all, top := images(t, open(t, b.File))
			if top.Digest.String() != b.Digest || strings.Join(b.Platforms, ",") != platforms {
				t.Errorf("the image is %s for %v, and kctrl says %s for %s", top.Digest, b.Platforms, b.Digest, platforms)
			}
			if top.Annotations["org.opencontainers.image.ref.name"] != "v1" || top.Annotations["io.containerd.image.name"] != "example.com:5000/a/site:v1" {
				t.Errorf("it is called %v", top.Annotations)
			}
			if len(all) != strings.Count(platforms, ",")+1 {
				t.Errorf("there are %d images for %s", len(all), platforms)
			}
			for platform, image := range all {
				check(t, platform, machines[platform], pem, image)
			}
		})
	}
}

func check(t *testing.T, platform string, machine elf.Machine, pem string, image v1.Image) {
	t.Helper()
	if err := validate.Image(image); err != nil {
		t.Errorf("%s: %v", platform, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/manager"}) || config.Platform().String() != platform {
		t.Errorf("%s: the configuration is %+v", platform, config)
	}
	files, extracted := map[string][]byte{}, mutate.Extract(image)
	defer extracted.Close()
	for reader := tar.NewReader(extracted); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.ModTime.Unix() != 0 {
			t.Errorf("%s: %s is of %d at %s", platform, header.Name, header.Uid, header.ModTime)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
	program, err := elf.NewFile(bytes.NewReader(files["manager"]))
	if err != nil {
		t.Fatal(err)
	}
	libraries, _ := program.ImportedLibraries()
	if program.Machine != machine || len(libraries) > 0 {
		t.Errorf("%s: the manager is for %s and links %v", platform, program.Machine, libraries)
	}
	if got := string(files["etc/ssl/certs/ca-certificates.crt"]); got != pem {
		t.Errorf("%s: the authorities are %q", platform, got)
	}
	if !bytes.Contains(files["etc/passwd"], fmt.Appendf(nil, ":65532:")) {
		t.Errorf("%s: the user has no name", platform)
	}
}

// TestImageIsReproducible builds one project in two folders.
func TestImageIsReproducible(t *testing.T) {
	first, second := build(t, t.TempDir()), build(t, filepath.Join(t.TempDir(), "elsewhere", "and deeper"))
	a, err := os.ReadFile(first.File)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(second.File)
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest != second.Digest || !bytes.Equal(a, b) {
		t.Errorf("one is %s, the other %s", first.Digest, second.Digest)
	}
}
