package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// HTMLOptions says what the page tells about itself, and what it shows beside
// the findings.
type HTMLOptions struct {
	// Scalings and Ranking are those of this run, from package analysis: how
	// totals grew with the size of the fleet, and which resource is lost
	// first. Nil leaves their parts out.
	Scalings []model.Scaling
	Ranking  *model.Ranking

	Generated time.Time      // when the page is made; zero: not shown
	Version   string         // of the scalebench that makes the page
	Zone      *time.Location // of the times shown; nil: UTC
}

//go:embed page/style.css
var styleSheet string

//go:embed page/script.js
var script string

//go:embed page/page.html.tmpl
var pageTemplate string

// The template and its two companions are constants of the program: the
// escaper trusts them, and the page's policy admits them by their hashes and
// nothing else.
var parsedPage = template.Must(template.New("page").Parse(pageTemplate))

// HTML writes one self-contained page about a run and its findings: nothing is
// loaded from anywhere, and it reads and prints well without its script. The
// findings must be those of this run. Nothing is written if the page cannot be
// made.
func HTML(w io.Writer, d model.RunData, findings []model.Finding, o HTMLOptions) error {
	p := newPage(d, findings, o)
	var b bytes.Buffer
	if err := parsedPage.Execute(&b, p); err != nil {
		return fmt.Errorf("writing report of run %s: %w", d.Run.ID, err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("writing report of run %s: %w", d.Run.ID, err)
	}
	return nil
}

// policy is the content security policy: no loading from anywhere, this style
// sheet, this script. Even if some text slipped through the escaping, a
// browser would not run it.
func policy() string {
	return "default-src 'none'; style-src '" + hash(styleSheet) + "'; script-src '" + hash(script) +
		"'; base-uri 'none'; form-action 'none'"
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
