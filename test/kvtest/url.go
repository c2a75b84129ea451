package kvtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Secret is the password in the URLs of CheckURLs.
const Secret = "pw1234"

// CheckURLs tests what a constructor makes of URLs: stores with these names, by
// URL; and, of those refused, by reason, errors of kind model.ErrUsage that do
// not show Secret.
func CheckURLs[S kv.Store](t *testing.T, create func(url string) (S, error), names, refused map[string]string) {
	t.Helper()
	for url, want := range names {
		s, err := create(url)
		if err != nil || s.Name() != want {
			t.Errorf("New(%s) = %v, %v, want %s", url, s, err, want)
		}
	}
	for reason, url := range refused {
		s, err := create(url)
		if !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: New = %v, %v, want ErrUsage", reason, s, err)
		}
		if strings.Contains(fmt.Sprint(err), Secret) {
			t.Errorf("%s: the password is shown: %v", reason, err)
		}
	}
}

// CheckDenied tests that a server does not let a store in, that this is named
// as the reason, and that the password, of which secret is a part, is not shown.
func CheckDenied(t *testing.T, store kv.Store, secret string) {
	t.Helper()
	_, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
	if !errors.Is(err, model.ErrDenied) || load.KindOf(err) != load.ErrConnect {
		t.Errorf("Connect = %v, want ErrDenied of kind connect", err)
	}
	_, loadErr := kv.Load(t.Context(), store, kv.DefaultDataset(), kv.LoadOptions{})
	if !errors.Is(loadErr, model.ErrDenied) {
		t.Errorf("Load = %v, want ErrDenied", loadErr)
	}
	if text := fmt.Sprint(err, loadErr, store.Name()); strings.Contains(text, secret) {
		t.Errorf("the password is shown: %s", text)
	}
}
