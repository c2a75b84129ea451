package cdi

import "github.com/scalebench/scalebench/internal/doc"

func (r *Result) Document() *doc.Document { return nil }
