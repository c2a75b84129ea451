package render

import (
	"errors"
	"io"

	"github.com/scalebench/scalebench/internal/doc"
)

// HTML writes a document as one page that loads nothing.
func HTML(io.Writer, *doc.Document) error { return errors.New("pages are not written yet") }

// Markdown writes a document for a repository or a ticket.
func Markdown(io.Writer, *doc.Document) error { return errors.New("Markdown is not written yet") }
