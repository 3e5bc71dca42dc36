package rotator

import (
	"crypto/x509"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

type WebhookType int

const (
	Validating WebhookType = iota
	Mutating
	CRDConversion
	APIService
	ExternalDataProvider
)

type WebhookInfo struct {
	Name string
	Type WebhookType
}

type CertRotator struct {
	SecretKey              types.NamespacedName
	CertDir                string
	CAName                 string
	CAOrganization         string
	DNSName                string
	ExtraDNSNames          []string
	IsReady                chan struct{}
	Webhooks               []WebhookInfo
	FieldOwner             string
	RestartOnSecretRefresh bool
	ExtKeyUsages           *[]x509.ExtKeyUsage
	RequireLeaderElection  bool
	CaCertDuration         time.Duration
	ServerCertDuration     time.Duration
	RotationCheckFrequency time.Duration
	LookaheadInterval      time.Duration
	CertName               string
	KeyName                string
	EnableReadinessCheck   bool
	ControllerName         string
}

func AddRotator(mgr manager.Manager, cr *CertRotator) error { return nil }
