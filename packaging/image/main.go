// Command image makes container images of scalebench without a daemon: an empty
// file system with the static program, the certificates of public authorities,
// a user without rights, and a folder for its data.
//
//	SOURCE_DATE_EPOCH=SECONDS image VERSION DOCS DIR PROCESSOR=BINARY...
//
// DOCS are the files, such as licences, that go with the program. DIR then holds one OCI archive with all processors, which registries take, and
// for each a docker archive for `docker load`. The same binaries, version and
// date give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the one that has no rights by custom ("nonroot").
const (
	user = 65532
	data = "var/lib/scalebench"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: SOURCE_DATE_EPOCH=SECONDS image VERSION DOCS DIR PROCESSOR=BINARY...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(version, docs, dir string, binaries []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be the version's date, in seconds since 1970: %w", err)
	}
	made := time.Unix(seconds, 0).UTC()
	// A tag has no plus.
	tag, err := name.NewTag("scalebench:" + strings.ReplaceAll(version, "+", "-"))
	if err != nil {
		return err
	}
	below, err := docFiles(docs)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range binaries {
		processor, binary, _ := strings.Cut(arg, "=")
		program, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		files := append([]entry{{name: "usr/"}, {name: "usr/bin/"}, {name: "usr/bin/scalebench", mode: 0o755, content: program}}, below...)
		img, err := newImage(version, processor, files, made)
		if err != nil {
			return fmt.Errorf("making the image for %s: %w", processor, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: processor},
		}})
		file := filepath.Join(dir, fmt.Sprintf("scalebench_%s_%s.docker.tar", version, processor))
		if err := tarball.WriteToFile(file, tag, img); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
	}
	return writeOCI(filepath.Join(dir, fmt.Sprintf("scalebench_%s.oci.tar", version)), index, tag, made)
}

// newImage has the program in a layer of its own, above what seldom changes.
func newImage(version, processor string, program []entry, made time.Time) (v1.Image, error) {
	base, err := newLayer(made, baseFiles())
	if err != nil {
		return nil, err
	}
	top, err := newLayer(made, program)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, base, top); err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", processor
	config.Created = v1.Time{Time: made}
	for i := range config.History {
		config.History[i].Created = v1.Time{Time: made}
	}
	config.Config = v1.Config{
		User:       strconv.Itoa(user) + ":" + strconv.Itoa(user),
		Entrypoint: []string{"/usr/bin/scalebench"},
		WorkingDir: "/" + data,
		Env:        []string{"PATH=/usr/bin", "HOME=/" + data, "SCALEBENCH_DATA=/" + data},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "scalebench",
			"org.opencontainers.image.description": "find out how far an application scales on rented machines",
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.created":     made.Format(time.RFC3339),
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.url":         "https://github.com/scalebench/scalebench",
			"org.opencontainers.image.source":      "https://github.com/scalebench/scalebench",
		},
	}
	return mutate.ConfigFile(img, config)
}

// entry is a file, or with a slash at its end a folder.
type entry struct {
	name    string
	mode    int64 // 0: 0644, or 0755 of a folder
	owner   int
	content []byte
}

func baseFiles() []entry {
	return []entry{
		{name: "etc/"},
		{name: "etc/passwd", content: fmt.Appendf(nil, "root:x:0:0:root:/:/\nscalebench:x:%d:%d::/%s:/\n", user, user, data)},
		{name: "etc/group", content: fmt.Appendf(nil, "root:x:0:\nscalebench:x:%d:\n", user)},
		{name: "etc/ssl/"},
		{name: "etc/ssl/certs/"},
		{name: "etc/ssl/certs/ca-certificates.crt", content: authorities()},
		{name: "tmp/", mode: 0o1777},
		{name: "var/"},
		{name: "var/lib/"},
		{name: data + "/", mode: 0o700, owner: user},
	}
}

func docFiles(dir string) ([]entry, error) {
	const target = "usr/share/doc/scalebench/"
	files := []entry{{name: "usr/share/"}, {name: "usr/share/doc/"}, {name: target}}
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, entry{name: target + f.Name(), content: content})
	}
	return files, nil
}

// authorities are Mozilla's, as the Go project passes them on. Those that are
// trusted in part only are left out, because a file of certificates cannot say
// in which part.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer takes all
		}
	}
	return out.Bytes()
}

func newLayer(made time.Time, files []entry) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range files {
		h := &tar.Header{
			Name: f.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.content)),
			Uid: f.owner, Gid: f.owner, ModTime: made, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if f.mode != 0 {
			h.Mode = f.mode
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// writeOCI packs an OCI layout into one file.
func writeOCI(file string, index v1.ImageIndex, tag name.Tag, made time.Time) error {
	dir, err := os.MkdirTemp("", "scalebench-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
	})); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close() // again below, where its error counts
	w := tar.NewWriter(out)
	if err := addTree(w, dir, made); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}

// addTree adds the files below a folder, in the order of their names.
func addTree(w *tar.Writer, dir string, made time.Time) error {
	return filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(rel), Typeflag: tar.TypeReg, Mode: 0o644, Size: info.Size(), ModTime: made}
		if info.IsDir() {
			h.Name, h.Typeflag, h.Mode, h.Size = h.Name+"/", tar.TypeDir, 0o755, 0
			return w.WriteHeader(h)
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(w, in)
		return err
	})
}
