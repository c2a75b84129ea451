package identity

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func TestSealAndOpen(t *testing.T) {
	for _, role := range []Role{RoleServer, RoleAgent, RoleClient} {
		for _, payload := range []string{"", "payload"} {
			k := newKey(t, role)
			data := must[[]byte](t)(Seal(k, "p", []byte(payload), testTime))
			if len(data) != EnvelopeOverhead+1+len(payload) {
				t.Errorf("%d bytes for a payload of %d, want %d more", len(data), len(payload), EnvelopeOverhead+1)
			}
			got, signer, issued, err := Open(data, "p")
			if err != nil || string(got) != payload || signer != k.Public() || !issued.Equal(testTime) {
				t.Errorf("Open = %q, %s, %v, %v", got, signer, issued, err)
			}
		}
	}
}

func TestSealRefusesPurposes(t *testing.T) {
	k := newKey(t, RoleAgent)
	for _, purpose := range []string{"", string(make([]byte, MaxPurpose+1))} {
		if _, err := Seal(k, purpose, nil, testTime); err == nil {
			t.Errorf("sealed for a purpose of %d bytes", len(purpose))
		}
	}
	long := string(make([]byte, MaxPurpose))
	data := must[[]byte](t)(Seal(k, long, nil, testTime))
	if _, _, _, err := Open(data, long); err != nil {
		t.Errorf("the longest purpose: %v", err)
	}
}

func TestOpenRefusesAnotherPurpose(t *testing.T) {
	k := newKey(t, RoleAgent)
	data := must[[]byte](t)(Seal(k, "agent.result", []byte("x"), testTime))
	payload, signer, _, err := Open(data, "agent.ready")
	if !errors.Is(err, ErrPurpose) || payload != nil || signer != k.Public() {
		t.Errorf("Open = %q, %s, %v; want the signer and %v", payload, signer, err, ErrPurpose)
	}
}

// Every single changed bit, and every cut, is noticed.
func TestOpenNoticesEveryChange(t *testing.T) {
	k := newKey(t, RoleAgent)
	data := must[[]byte](t)(Seal(k, "purpose", []byte("payload"), testTime))
	for i := range data {
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[i] ^= 1 << bit
			if _, _, _, err := Open(changed, "purpose"); err == nil {
				t.Errorf("bit %d of byte %d changed, and not noticed", bit, i)
			}
		}
		if _, _, _, err := Open(data[:i], "purpose"); err == nil {
			t.Errorf("cut to %d bytes, and not noticed", i)
		}
	}
	if _, _, _, err := Open(append(data, 0), "purpose"); err == nil {
		t.Error("a byte added, and not noticed")
	}
}

// A signature on the queue server's challenge does not make an envelope.
func TestSignaturesOfOtherThingsAreNoEnvelopes(t *testing.T) {
	k := newKey(t, RoleAgent)
	data := must[[]byte](t)(Seal(k, "p", []byte("x"), testTime))
	signed := data[:len(data)-64]
	forged := append(bytes.Clone(signed), must[[]byte](t)(k.Sign(signed))...)
	if _, _, _, err := Open(forged, "p"); !errors.Is(err, ErrSignature) {
		t.Errorf("Open = %v, want %v", err, ErrSignature)
	}
}

func FuzzOpen(f *testing.F) {
	k := newKey(f, RoleAgent)
	good := must[[]byte](f)(Seal(k, "p", []byte("payload"), testTime))
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte(envelopeMagic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		payload, signer, _, err := Open(data, "p")
		if err == nil && signer == k.Public() && !bytes.Equal(data, good) {
			t.Errorf("a forged envelope opens: %q", payload)
		}
	})
}

// Whatever is sealed opens as the same.
func FuzzSealOpen(f *testing.F) {
	k := newKey(f, RoleAgent)
	f.Add("p", []byte("payload"), int64(1))
	f.Add("a.b", []byte{}, int64(-1))
	f.Fuzz(func(t *testing.T, purpose string, payload []byte, at int64) {
		data, err := Seal(k, purpose, payload, time.Unix(0, at))
		if err != nil {
			return
		}
		got, signer, issued, err := Open(data, purpose)
		if err != nil || !bytes.Equal(got, payload) || signer != k.Public() || issued.UnixNano() != at {
			t.Errorf("Open(Seal(%q, %q, %d)) = %q, %s, %v, %v", purpose, payload, at, got, signer, issued, err)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	k, payload := newKey(b, RoleAgent), make([]byte, 1024)
	for b.Loop() {
		must[[]byte](b)(Seal(k, "agent.result", payload, testTime))
	}
}

func BenchmarkOpen(b *testing.B) {
	data := must[[]byte](b)(Seal(newKey(b, RoleAgent), "agent.result", make([]byte, 1024), testTime))
	for b.Loop() {
		if _, _, _, err := Open(data, "agent.result"); err != nil {
			b.Fatal(err)
		}
	}
}
