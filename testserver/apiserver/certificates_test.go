package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
)

// These are three certificate requests and a certificate. One request has an invalid signature, and one requests
// forbidden permissions.
const (
	signable     = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIVk1INENBUUF3SERFT01Bd0dBMVVFQ2hNRmEyTjBjbXd4Q2pBSUJnTlZCQU1UQVdFd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBUlVSL09RN2x5ZnJQMjBRcDdJOFRMYmF4RlVuZGlDcXdzV1BncWpndUtUCi9NbW9WMTdlQ254WHFHVHZLOVZidXdmSEpxT25RcndOWVRQNGl5cTVJUFlYb0FBd0NnWUlLb1pJemowRUF3SUQKUndBd1JBSWdkVk5NSExJdHB6bDVHQXRLUjFDeDFzUGlRUnFZaFh6SW4rNzBpaExiakVNQ0lEK1JIK01OZjVuVwpTdTNkNWZPRXlMYXhZUytTNkhNbkNTWUw1QzFhaG5EdAotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
	unsignable   = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIVk1INENBUUF3SERFT01Bd0dBMVVFQ2hNRmEyTjBjbXd4Q2pBSUJnTlZCQU1UQVdFd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBUlVSL09RN2x5ZnJQMjBRcDdJOFRMYmF4RlVuZGlDcXdzV1BncWpndUtUCi9NbW9WMTdlQ254WHFHVHZLOVZidXdmSEpxT25RcndOWVRQNGl5cTVJUFlYb0FBd0NnWUlLb1pJemowRUF3SUQKUndBd1JBSWdkVk5NSExJdHB6bDVHQXRLUjFDeDFzUGlRUnFZaFh6SW4rNzBpaExiakVNQ0lEK1JIK01OZjVuVwpTdTNkNWZPRXlMYXhZUytTNkhNbkNTWUw1QzFhaG5EcwotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
	forMasters   = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaE1JR0hBZ0VBTUNVeEZ6QVZCZ05WQkFvVERuTjVjM1JsYlRwdFlYTjBaWEp6TVFvd0NBWURWUVFERXdGaApNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVWRWZ6a081Y242ejl0RUtleVBFeTIyc1JWSjNZCmdxc0xGajRLbzRMaWsvekpxRmRlM2dwOFY2aGs3eXZWVzdzSHh5YWpwMEs4RFdFeitJc3F1U0QyRjZBQU1Bb0cKQ0NxR1NNNDlCQU1DQTBrQU1FWUNJUUNCMUdZRERockIrcms1TzlXOGpaMzZxbHZRZlA3Q2hzd3EzYWs4Y3duRQowZ0loQUwydE9qbWRCRWZHdElwVGFXTVhZTDAvSitXTk1oZ1ZUVGlCOTgrWVpNMFQKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
	aCertificate = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSHdNSUdYb0FNQ0FRSUNBUUV3Q2dZSUtvWkl6ajBFQXdJd0FEQWlHQTh3TURBeE1ERXdNVEF3TURBd01Gb1kKRHpJd09UWXhNREF5TURjd05qUXdXakFBTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFVkVmegprTzVjbjZ6OXRFS2V5UEV5MjJzUlZKM1lncXNMRmo0S280TGlrL3pKcUZkZTNncDhWNmhrN3l2Vlc3c0h4eWFqCnAwSzhEV0V6K0lzcXVTRDJGekFLQmdncWhrak9QUVFEQWdOSUFEQkZBaUVBcW9kRWZ2ZnRJSGlHQnpVYlRNTTkKb09OZjlQeFMwLzM5eGtodGZ5Vi9adndDSUhQUWkrNjdPUUFqZm5zeWlJQUJjblI2OThHQ3l4MXVXRDJDRHpYRgp0Yi9GCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"
)

// These parts of answers are not compared: the user of a request, which the real server takes from a certificate, and
// the descriptions of columns, which the real server takes from an older version.
var (
	credential = regexp.MustCompile(`"extra": \{\s*"authentication.kubernetes.io/credential-id": \[\s*"[^"]*"\s*\]\s*\},\s*`)
	// quoted matches the same data where an error contains the object.
	quoted    = regexp.MustCompile(`,?\\+"authentication.kubernetes.io/credential-id\\+":\[\\+"[^"]*"\]`)
	noExtra   = regexp.MustCompile(`,\\+"extra\\+":\{\}`)
	whoAsks   = regexp.MustCompile(`\b(?:kctrl|kubernetes)-admin\b`)
	described = regexp.MustCompile(`"description": "(?:[^"\\]|\\.)*",(\s*"format": "",\s*"name": "(?:SignerName|Requestor|RequestedDuration|Condition)")`)
)

func maskedSigning(text string) string {
	text = whoAsks.ReplaceAllString(noExtra.ReplaceAllString(quoted.ReplaceAllString(credential.ReplaceAllString(text, ""),
		""), ""), "WHO")
	return maskedKinds(described.ReplaceAllString(text, "$1"))
}

var signingKind = sampleKind{
	"/apis/certificates.k8s.io/v1/certificatesigningrequests", "certificates.k8s.io/v1", "CertificateSigningRequest",
	[]string{"status"},
	[]string{
		`{"spec":{"request":"` + signable +
			`","signerName":"example.com/x","usages":["client auth","key agreement"],"expirationSeconds":3600}}`,
		`{"spec":{"request":"` + signable +
			`","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"],"username":"somebody","groups":["g"],"uid":"u","extra":{"a":["b"]}},"status":{"conditions":[{"type":"Approved","status":"True"}]}}`,
		`{"spec":{"request":"` + forMasters +
			`","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}}`,
		`{"spec":{"request":"` + unsignable +
			`","signerName":"a/b","usages":["client auth","client auth","x"],"expirationSeconds":5}}`,
	},
	[]string{labelPatch, `{"spec":{"signerName":"example.com/y"}}`, `{"spec":{"usages":[]}}`},
}

// signingRequests returns requests about certificate requests, their approval and their certificates.
func signingRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 12)), namespace: fmt.Sprintf("q%d%s", seed, salt)}
	s.addSigner()
	for range 30 {
		if s.IntN(2) == 0 {
			s.kindStep(signingKind)
		} else {
			s.signingStep()
		}
	}
	return s.requests
}

// addSigner allows a user to write requests, and to approve and sign requests for some signers.
func (s *sequence) addSigner() {
	rule := func(resources, verbs, names []any) map[string]any {
		return map[string]any{"apiGroups": []any{"certificates.k8s.io"}, "resources": resources, "verbs": verbs,
			"resourceNames": names}
	}
	s.grant(s.namespace+"-signer", []any{
		rule([]any{"*"}, []any{"get", "patch", "update"}, nil),
		rule([]any{"signers"}, []any{pick(s, "approve", "approve", "sign")},
			[]any{pick(s, "example.com/x", "example.com/*", "kubernetes.io/*")}),
	}, "certificates.k8s.io", "certificatesigningrequests", "patch")
}

func (s *sequence) signingStep() {
	name := s.kindName(signingKind)
	path := signingKind.path + "/" + name
	condition := func() any {
		condition := map[string]any{"type": pick(s, "Approved", "Approved", "Denied", "Failed", "Other", ""),
			"status": pick(s, "True", "True", "True", "False", "Unknown", "", "Maybe"), "reason": pick(s, "r", "s")}
		if s.IntN(4) == 0 {
			condition["lastUpdateTime"] = "2024-01-01T00:00:00Z"
		}
		if s.IntN(4) == 0 {
			condition["lastTransitionTime"] = "2024-01-01T00:00:00Z"
		}
		return condition
	}
	conditions := []any{condition()}
	for s.IntN(3) == 0 {
		conditions = append(conditions, condition())
	}
	status := map[string]any{}
	if s.IntN(4) > 0 {
		status["conditions"] = conditions
	}
	if s.IntN(2) == 0 {
		status["certificate"] = pick(s, aCertificate, aCertificate, signable, "eA==", "")
	}
	patch := marshal(map[string]any{"status": status})
	who := pick(s, "", "", s.namespace+"-signer")
	part := pick(s, "/approval", "/approval", "/status", "/status", "")
	switch s.IntN(6) {
	case 0, 1, 2:
		s.add(asked{method: "PATCH", path: path + part, user: who, contentType: pick(s, "application/merge-patch+json",
			"application/strategic-merge-patch+json"), body: patch})
	case 3:
		s.add(asked{method: "PATCH", path: path + part + "?fieldManager=" + pick(s, "one", "two") + pick(s, "",
			"&force=true"), contentType: "application/apply-patch+yaml", body: object(signingKind.apiVersion, signingKind.kind,
			name, "", map[string]any{"status": status})})
	case 4:
		s.add(asked{method: "GET", path: path + pick(s, "/approval", "/status", ""), accept: pick(s, "", asTable)})
	case 5:
		s.add(asked{method: "GET", path: signingKind.path + "?fieldSelector=spec.signerName%3D" + pick(s, "example.com/x",
			"none") + ",metadata.name%3D" + name})
	}
}
