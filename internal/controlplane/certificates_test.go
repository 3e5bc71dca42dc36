//go:build linux || darwin

package controlplane

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
)

func parseCertificate(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestCertificatesAreOfTheInstancesOwnAuthority(t *testing.T) {
	dir := t.TempDir()
	ids, err := writeIdentities(dir)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ids.authority)

	server, err := os.ReadFile(filepath.Join(dir, "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseCertificate(t, server).Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"}); err != nil {
		t.Errorf("the API server's certificate: %v", err)
	}
	admin := parseCertificate(t, ids.admin.certificate)
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := admin.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: usage}); err != nil {
		t.Errorf("the administrator's certificate: %v", err)
	}
	if admin.Subject.Organization[0] != "system:masters" {
		t.Errorf("the administrator is in %v", admin.Subject.Organization)
	}
	if _, err := admin.Verify(x509.VerifyOptions{Roots: roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("the administrator's certificate could be a server's")
	}
}

func TestKeysAreForTheUserAlone(t *testing.T) {
	dir := t.TempDir()
	if _, err := writeIdentities(dir); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil || len(keys) == 0 {
		t.Fatalf("no keys, %v", err)
	}
	for _, key := range keys {
		info, err := os.Stat(key)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", key, info.Mode(), err)
		}
	}
}
