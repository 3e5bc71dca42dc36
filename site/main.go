// Command site writes the source of the site: README.md and the pages of docs/, and a page for each public package of
// the runtime. With -serve it serves the built site.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const (
	root   = ".."
	source = "source"
	built  = "../bin/site"
)

func main() {
	serve := flag.String("serve", "", "address at which to serve the built site, for example localhost:8080")
	flag.Parse()
	if err := run(*serve); err != nil {
		log.Fatal(err)
	}
}

func run(serve string) error {
	if serve != "" {
		fmt.Println("http://" + serve)
		return http.ListenAndServe(serve, http.FileServer(http.Dir(built)))
	}
	if err := os.RemoveAll(source); err != nil {
		return err
	}
	if err := copyPages(); err != nil {
		return err
	}
	return writeAPI(filepath.Join(root, "runtime"))
}

// copyPages copies README.md, and the Markdown and the pictures of docs/. A README.md becomes the index of its
// directory.
func copyPages() error {
	if err := copyFile(filepath.Join(root, "README.md"), "index.md"); err != nil {
		return err
	}
	docs := filepath.Join(root, "docs")
	return filepath.WalkDir(docs, func(file string, entry fs.DirEntry, err error) error {
		if ext := filepath.Ext(file); err != nil || entry.IsDir() || ext != ".md" && ext != ".svg" {
			return err
		}
		name, err := filepath.Rel(docs, file)
		if err != nil {
			return err
		}
		if dir, base := filepath.Split(name); base == "README.md" {
			name = dir + "index.md"
		}
		return copyFile(file, name)
	})
}

func copyFile(from, name string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writePage(name, string(text))
}

func writePage(name, text string) error {
	name = filepath.Join(source, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(strings.TrimRight(text, "\n")+"\n"), 0o666)
}
