package apiserver_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// subjects contains the compared subjects: the requests of seeds, and the file with the real API server's answers to
// some of them. The requests of the last three subjects do not depend on the seed.
var subjects = map[string]subject{
	"resources": {"testdata/answers.json.gz", upTo(40), func(testing.TB) requester { return requestsOf }, nil},
	"kinds":     {"testdata/kinds.json.gz", upTo(60), func(testing.TB) requester { return kindRequests }, maskedKinds},
	// The answer to a strategic patch of seed 26 depends on map order, on both servers.
	"variety": {"testdata/variety.json.gz", slices.DeleteFunc(upTo(60, 3683746929, 3683746950, 3683746986, 3683747066,
		3683747161, 3683747192, 3683747229,
		1764503236, 26839204, 26839240, 26839282, 91270011), func(seed uint64) bool { return seed == 26 }),
		func(testing.TB) requester { return varietyOf }, maskedKinds},
	"breadth": {"testdata/breadth.json.gz", upTo(40, 1002450153, 1002450244, 1002450269, 1383724055, 1383724409),
		func(testing.TB) requester { return breadthOf }, maskedKinds},
	"limits": {"testdata/limits.json.gz", upTo(20), func(testing.TB) requester { return limitRequests },
		maskedLimits},
	"warnings": {"testdata/warnings.json.gz", upTo(4), func(testing.TB) requester { return warnedRequests },
		maskedKinds},
	"systems": {"testdata/systems.json.gz", upTo(20), func(testing.TB) requester { return systemRequests },
		maskedKinds},
	"classes": {"testdata/classes.json.gz", upTo(20), func(testing.TB) requester { return classRequests },
		maskedKinds},
	"signing": {"testdata/signing.json.gz", upTo(20), func(testing.TB) requester { return signingRequests },
		maskedSigning},
	"addresses": {"testdata/addresses.json.gz", upTo(20), func(testing.TB) requester { return addressRequests },
		maskedKinds},
	"claims":  {"testdata/claims.json.gz", upTo(12), func(testing.TB) requester { return claimRequests }, maskedKinds},
	"readers": {"testdata/readers.json.gz", upTo(20), func(testing.TB) requester { return readerRequests }, nil},
	"definitions": {"testdata/definitions.json.gz", upTo(20), func(testing.TB) requester { return definitionRequests },
		maskedDefinitions},
	"fields": {"testdata/fields.json.gz", upTo(20, 60099, 9100047, 9100098, 9100168, 9100176, 9100295, 9100341,
		9100489, 33330011, 33330207, 55550034), fieldsOf, maskedFields},
	"rights": {"testdata/rights.json.gz", upTo(20), func(testing.TB) requester { return rightsOf }, nil},
	"admission": {"testdata/admission.json.gz", upTo(20),
		func(t testing.TB) requester { return newHooks(t).admissionOf }, nil},
	"negotiation": {"testdata/negotiation.json.gz", upTo(1), always(negotiationRequests), nil},
	"bounds":      {"testdata/bounds.json.gz", upTo(1), always(boundRequests), nil},
	"rejected":    {"testdata/rejected.json.gz", upTo(1), always(rejectedRequests), nil},
}

// about describes the requests of each subject, for docs/fidelity.md.
var about = map[string]string{
	"resources":   "custom resources, ConfigMaps, Secrets, Namespaces: all verbs, patches, applies, lists, watches, tables",
	"kinds":       "the other built-in kinds and their subresources, with valid and invalid bodies",
	"variety":     "random fields, metadata, patches, selectors and options of all kinds",
	"breadth":     "protobuf, odd methods, paths, parameters and bodies",
	"limits":      "LimitRanges, resource requests, resizes",
	"warnings":    "objects that cause warnings",
	"systems":     "pods that ask for Linux, Windows or both",
	"classes":     "RuntimeClasses and their pods",
	"signing":     "CertificateSigningRequests and approvals",
	"addresses":   "IPAddresses, ServiceCIDRs, Bindings",
	"claims":      "claims, volumes and classes; addresses of Services",
	"readers":     "policies with parameters, by users with few rights",
	"definitions": "CustomResourceDefinitions with random schemas, and their changes",
	"fields":      "single fields of all kinds with values of wrong types and at limits",
	"rights":      "roles, bindings, impersonation, tokens, access reviews",
	"admission":   "webhooks and admission policies",
	"negotiation": "content types and status 406 and 415",
	"bounds":      "bodies and objects at their limits",
	"rejected":    "definitions that are rejected",
}

var update = flag.Bool("update", false, "write the table of docs/fidelity.md")

// TestFidelityTable compares the table in docs/fidelity.md with the recordings. With -update it writes the table.
func TestFidelityTable(t *testing.T) {
	const path, begin, end = "../../docs/fidelity.md",
		"<!-- go test ./testserver/apiserver -run TestFidelityTable -update -->\n", "<!-- end -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the table", path)
	}
	var table strings.Builder
	table.WriteString("\n| subject | requests about | sequences recorded | answers recorded |\n|---|---|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(subjects)) {
		var recorded [][]string
		load(t, subjects[name].recording, &recorded)
		answers := 0
		for _, sequence := range recorded {
			answers += len(sequence)
		}
		if about[name] == "" {
			t.Errorf("about has no line for %s", name)
		}
		fmt.Fprintf(&table, "| %s | %s | %d | %d |\n", name, about[name], len(recorded), answers)
	}
	table.WriteByte('\n')
	switch want := before + begin + table.String() + end + after; {
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	case want != string(page):
		t.Errorf("%s is out of date: go test ./testserver/apiserver -run TestFidelityTable -update", path)
	}
}

// always returns the same requests for every seed.
func always(requests func() []asked) func(testing.TB) requester {
	return func(testing.TB) requester { return func(uint64, string) []asked { return requests() } }
}

type subject struct {
	recording string
	recorded  []uint64 // recorded seeds
	requests  func(t testing.TB) requester
	mask      func(answer string) string // masks further parts of an answer before the comparison; may be nil
}

// upTo returns the first n seeds, and further seeds that once showed a difference.
func upTo(n uint64, different ...uint64) (seeds []uint64) {
	for seed := range n {
		seeds = append(seeds, seed)
	}
	return append(seeds, different...)
}

// requester returns the requests of a seed. The salt becomes part of the names that all sequences on a server share.
type requester func(seed uint64, salt string) []asked

// TestAnswersAsTheRealServerDid compares the answers of the in-memory server with the recordings. It runs in a bubble,
// because on a busy machine a second may pass within a sequence. An apply without a change then becomes a write of its
// time, on any server. Calls of admission webhooks use sockets, which do not work in a bubble.
func TestAnswersAsTheRealServerDid(t *testing.T) {
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			var recorded [][]string
			load(t, s.recording, &recorded)
			replay := func(t *testing.T) {
				ours := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
				ours.of, ours.mask = s.requests(t), s.mask
				if len(recorded) != len(s.recorded) {
					t.Fatalf("%s has the answers to %d seeds, want %d", s.recording, len(recorded), len(s.recorded))
				}
				for i, seed := range s.recorded {
					ours.compare(t, seed, recorded[i])
				}
			}
			if name == "admission" {
				replay(t)
			} else {
				synctest.Test(t, replay)
			}
		})
	}
}

// recordVariable names the environment variable that makes TestAnswersAsTheRealServer write the recordings if it is
// "record".
const recordVariable = "KCTRL_TEST_FIDELITY"

// TestAnswersAsTheRealServer compares the answers of the in-memory server with the answers of the real API server.
func TestAnswersAsTheRealServer(t *testing.T) {
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(recordVariable) == "record" {
				s.record(t)
			} else {
				s.compare(t)
			}
		})
	}
}

// record writes the answers of the real API server into the recording.
func (s subject) record(t *testing.T) {
	theirs := newPeer(t, "real", nil)
	theirs.of, theirs.mask = s.requests(t), s.mask
	var answers [][]string
	for _, seed := range s.recorded {
		answers = append(answers, theirs.answers(t, seed))
	}
	store(t, s.recording, answers)
}

// renewed is the number of seeds after which the servers are replaced. The real server drops its first versions after
// five minutes.
const renewed = 100

func (s subject) compare(t *testing.T) {
	of := s.requests(t)
	salt := strconv.FormatInt(time.Now().Unix(), 36)
	start := func() (theirs, ours *peer) {
		theirs, ours = newPeer(t, "real", nil), newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
		for _, p := range []*peer{theirs, ours} {
			p.of, p.mask, p.salt = of, s.mask, salt
		}
		return theirs, ours
	}
	var theirs, ours *peer
	count, requests, different := 0, 0, 0
	ask := func(t *testing.T, seed uint64) {
		if count%renewed == 0 {
			theirs, ours = start()
		}
		count++
		answers := theirs.answers(t, seed)
		requests += len(answers)
		if !ours.compare(t, seed, answers) {
			different++
		}
	}
	if len(s.recorded) == 1 {
		ask(t, s.recorded[0])
	} else {
		seeds.Each(t, 5, ask)
	}
	t.Logf("%d requests, %d different", requests, different)
}

func load(t *testing.T, recording string, into any) {
	t.Helper()
	file, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(unzipped).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func store(t *testing.T, recording string, what any) {
	t.Helper()
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	if err := json.NewEncoder(zipped).Encode(what); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recording, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// peer is one of the compared servers.
type peer struct {
	name   string
	salt   string // part of namespace names, for a server that has already processed the seeds
	client *http.Client
	host   string
	of     requester // the requests of a seed
	mask   func(answer string) string
}

// newPeer returns a server with the CRDs of testdata: the given server, or a real one.
func newPeer(t testing.TB, name string, server *apiserver.Server) *peer {
	var config *rest.Config
	if server != nil {
		t.Cleanup(server.Close)
		config = server.Config()
	} else {
		config = testenv.Start(t).Config
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{name: name, client: client, host: config.Host, of: requestsOf}
	p.forget(t)
	crds, err := os.ReadFile("testdata/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(crds), "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if status, body, _ := p.do(t, asked{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			body: string(data)}); status != http.StatusCreated && status != http.StatusConflict {
			t.Fatalf("%s: %d %s", name, status, body)
		}
	}
	for _, path := range []string{"/apis/fidelity.kctrl.dev/v1/gadgets", "/apis/fidelity.kctrl.dev/v1/widgets"} {
		p.await(t, path)
	}
	return p
}

// await repeats a request until a resource is served, which happens soon after its CRD was created.
func (p *peer) await(t testing.TB, path string) {
	for deadline := time.Now().Add(time.Minute); ; {
		status, body, _ := p.do(t, asked{method: "GET", path: path})
		if status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s: %s", p.name, path, body)
		}
	}
}

// asked is a request. Its path and body may refer to earlier answers: {{uid NAME}}, {{version NAME}}, {{continue}},
// {{start}}.
type asked struct {
	method, path, contentType, accept, body string

	user  string // empty means the administrator
	until string // the request is repeated until the answer contains this text
	dry   bool   // dry run

	header  [2]string // one additional header, by name and value
	decoded bool      // whether to decode answers in protobuf before the comparison
}

func (a asked) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s\n%.2000s", a.method, a.path, a.contentType, a.accept, a.user,
		a.body))
}

// broken represents a connection that breaks without an answer.
const broken = "the connection is broken, as it is by a panic"

func (p *peer) do(t testing.TB, a asked) (status int, body []byte, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), a.method, p.host+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "fidelity/1.0")
	if a.contentType != "" || a.body != "" {
		if a.contentType == "" {
			a.contentType = "application/json"
		}
		request.Header.Set("Content-Type", a.contentType)
	}
	if a.accept == "" {
		a.accept = "application/json"
	}
	request.Header.Set("Accept", a.accept)
	if a.header[0] != "" {
		request.Header.Set(a.header[0], a.header[1])
	}
	if a.user != "" {
		request.Header.Set("Impersonate-User", a.user)
		if group, ok := groupOf(a.user); ok {
			request.Header.Set("Impersonate-Group", group)
		}
	}
	response, err := p.client.Do(request)
	if err != nil && t.Context().Err() == nil && strings.Contains(err.Error(), "stream error") || err != nil &&
		strings.Contains(err.Error(), "panicked") {
		return 0, []byte(broken), http.Header{}
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", p.name, a, err)
	}
	defer response.Body.Close()
	if strings.Contains(a.path, "watch=") {
		return response.StatusCode, readWatch(t, response.Body), response.Header
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %s: %v", p.name, a, err)
	}
	return response.StatusCode, data, response.Header
}

// readWatch reads events until the last object of the sequence, named sentinel, or until the watch fails.
func readWatch(t testing.TB, body io.Reader) []byte {
	var events []json.RawMessage
	decoder := json.NewDecoder(body)
	for {
		var event json.RawMessage
		if err := decoder.Decode(&event); err != nil {
			break
		}
		events = append(events, event)
		if bytes.Contains(event, []byte(`"sentinel"`)) || bytes.Contains(event, []byte(`"type":"ERROR"`)) {
			break
		}
	}
	data, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// answers sends the requests of a seed and returns the masked answers.
func (p *peer) answers(t *testing.T, seed uint64) (answers []string) {
	m := newMask()
	for _, a := range p.of(seed, p.salt) {
		answers = append(answers, p.answer(t, m, a))
	}
	return answers
}

func (p *peer) answer(t *testing.T, m *mask, a asked) string {
	filled := a
	filled.path, filled.body = m.fill(a.path), m.fill(a.body)
	if filled.dry {
		filled.path = dryRun(filled.path)
	}
	status, body, header := p.repeat(t, filled)
	if a.decoded && strings.HasPrefix(header.Get("Content-Type"), asProtobuf) {
		body = fromProtobuf(body)
	}
	answer := fmt.Sprintf("%d %s %q\n%s", status, header.Get("Content-Type"), header.Values("Warning"), m.masked(body))
	if p.mask != nil {
		return p.mask(answer)
	}
	return answer
}

func dryRun(path string) string {
	switch {
	case strings.Contains(path, "dryRun="):
		return path
	case strings.Contains(path, "?"):
		return path + "&dryRun=All"
	}
	return path + "?dryRun=All"
}

// compare sends the requests of a seed and reports whether the answers equal the answers of another server.
func (p *peer) compare(t *testing.T, seed uint64, answers []string) bool {
	t.Helper()
	m := newMask()
	requests := p.of(seed, p.salt)
	if len(requests) != len(answers) {
		t.Fatalf("seed %d has %d requests, and there are %d answers: record them again", seed, len(requests), len(answers))
	}
	for i, a := range requests {
		theirs := answers[i]
		if p.mask != nil {
			theirs = p.mask(theirs) // a recording may be older than the mask
		}
		if diff := gocmp.Diff(theirs, p.answer(t, m, a)); diff != "" {
			t.Errorf("seed %d, request %d: %s\n-real +in memory\n%s", seed, i, a, diff)
			return false // later answers would differ for the same reason
		}
	}
	return true
}

// mask replaces the random values in the answers of one server by their order of appearance.
type mask struct {
	uids      map[string]string
	versions  map[string]string
	generated map[string]string
	latest    map[string]map[string]string // of each object by name: uid and version
	next      string                       // the last continue token
	start     string                       // the version of the first list
	token     string                       // of a service account
}

func newMask() *mask {
	return &mask{map[string]string{}, map[string]string{}, map[string]string{}, map[string]map[string]string{}, "", "", ""}
}

var (
	reference    = regexp.MustCompile(`\{\{(\w+)(?: ([^}]*))?\}\}`)
	uuids        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	generated    = regexp.MustCompile(`(?:gen|Not_Valid|g{58})-?[bcdfghjklmnpqrstvwxz2456789]{5}`)
	numbers      = regexp.MustCompile("(?i)(resource ?version[^:(]*[:(][ \\\\\"]*)(\\d+)")
	times        = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	yamlVersions = regexp.MustCompile(`resourceVersion: "(\d+)"`)
	yamlContinue = regexp.MustCompile(`\n  continue: (\S+)\n`)
	listVersion  = regexp.MustCompile(`\n  resourceVersion: "\d+"\n`)
	ages         = regexp.MustCompile(`^\d+s$`)
	allowed      = regexp.MustCompile(`RBAC: allowed by .*`) // depends on map order
	several      = regexp.MustCompile(`RBAC: \[.*\]`)
	resolution   = regexp.MustCompile(`resolution errors: .*`)
	hosts        = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	tooLarge     = regexp.MustCompile(`Too large resource version: (\d+), current: \d+`)
	neverShown   = regexp.MustCompile(`ResourceVersion in record \(\d+\)`) // version of a write that no answer contained
	tooOld       = regexp.MustCompile(`resource version: \d+ \(\d+\)`)
)

func (m *mask) fill(text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		switch parts[1] {
		case "continue":
			return m.next
		case "start":
			return m.start
		case "token":
			return m.token
		}
		if known, ok := m.latest[parts[2]]; ok {
			return known[parts[1]]
		}
		return map[string]string{"uid": "00000000-0000-4000-8000-000000000000", "version": "1"}[parts[1]]
	})
}

func (m *mask) masked(body []byte) string {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		if bytes.Contains(body, []byte("\nitems:")) {
			body = listVersion.ReplaceAll(body, []byte("\n  resourceVersion: VERSION\n"))
		}
		if token := yamlContinue.FindSubmatch(body); token != nil {
			m.next = string(token[1])
			body = yamlContinue.ReplaceAll(body, []byte("\n  continue: TOKEN\n"))
		}
		text := yamlVersions.ReplaceAllStringFunc(string(body), func(found string) string {
			return named(m.versions, "version-", yamlVersions.FindStringSubmatch(found)[1])
		})
		if !utf8.ValidString(text) {
			return strconv.QuoteToASCII(m.text(text))
		}
		return m.text(text)
	}
	sortCauses(value)
	value = m.value(value, "")
	sortCauses(value) // before masking, causes were sorted by generated names
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// sortCauses sorts values that the real server writes in map order, such as the problems of an object.
func sortCauses(value any) {
	status, _ := value.(map[string]any)
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	if resources, ok := status["resources"].([]any); ok { // the real server returns them in map order
		slices.SortFunc(resources, func(a, b any) int { return strings.Compare(marshal(a), marshal(b)) })
	}
	sortTypeErrors(status, "): ")
	for _, cause := range causes { // causes of policies
		if cause, ok := cause.(map[string]any); ok {
			sortTypeErrors(cause, ": .")
		}
	}
	if len(causes) < 2 {
		return
	}
	if group, _ := details["group"].(string); builtIn(group) && status["reason"] == "Invalid" {
		sortRuns(causes)
	} else {
		slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	message, _ := status["message"].(string)
	words := strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
	slices.Sort(words)
	status["message"] = strings.Join(words, " ")
}

// builtIn reports whether the problems of a group's kinds have a fixed order. The problems of CRDs and custom resources
// have none, because schemas are maps.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && group != "apiextensions.k8s.io"
}

// inMap matches a field's path up to the key of a map.
var inMap = regexp.MustCompile(`^(.*?)(annotations\b|(?:containerResource|external|object|pods|resource)$|labels\b|nodeSelector\b|\[[^\]]*[^\]\d][^\]]*\]).*`)

// sortRuns sorts consecutive problems that concern entries of the same map.
func sortRuns(causes []any) {
	place := func(cause any) string {
		path := fmt.Sprint(cause.(map[string]any)["field"])
		if found := inMap.FindStringSubmatch(path); found != nil {
			return found[1]
		}
		return path
	}
	for from := 0; from < len(causes); {
		to := from + 1
		for to < len(causes) && place(causes[to]) == place(causes[from]) {
			to++
		}
		slices.SortFunc(causes[from:to], func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		from = to
	}
}

// sortTypeErrors reduces the type errors of a patch to the part that does not depend on map order. The names of fields
// follow the text before.
func sortTypeErrors(status map[string]any, before string) {
	message, _ := status["message"].(string)
	if strings.Contains(message, "field not declared in schema") {
		status["message"], _, _ = strings.Cut(message, before)
	} else if strings.Contains(message, "errors:\n") {
		lines := strings.Split(message, "\n")
		slices.Sort(lines[1:])
		status["message"] = strings.Join(lines, "\n")
	}
}

func named(known map[string]string, prefix, value string) string {
	if known[value] == "" {
		known[value] = prefix + strconv.Itoa(len(known)+1)
	}
	return known[value]
}

// text masks the variable parts of messages.
func (m *mask) text(text string) string {
	if ages.MatchString(text) {
		return "AGE"
	}
	text = uuids.ReplaceAllStringFunc(text, func(uid string) string { return named(m.uids, "uid-", uid) })
	text = allowed.ReplaceAllString(text, "RBAC: allowed by SOMETHING")
	text = resolution.ReplaceAllString(text, "resolution errors: SEVERAL")
	text = several.ReplaceAllString(text, "RBAC: [SEVERAL]")
	text = hosts.ReplaceAllString(text, "HOST")
	text = tooLarge.ReplaceAllString(text, "Too large resource version: $1, current: N")
	text = tooOld.ReplaceAllString(text, "resource version: N (N)")
	text = times.ReplaceAllString(text, "TIME")
	text = generated.ReplaceAllStringFunc(text, func(name string) string { return named(m.generated, "generated-", name) })
	text = numbers.ReplaceAllStringFunc(text, func(found string) string {
		parts := numbers.FindStringSubmatch(found)
		if shown, ok := m.versions[parts[2]]; ok {
			return parts[1] + shown
		}
		return found
	})
	return neverShown.ReplaceAllString(text, "ResourceVersion in record (N)")
}

func (m *mask) value(value any, name string) any {
	switch value := value.(type) {
	case string:
		switch name {
		case "creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime", "expirationTimestamp":
			return "TIME"
		case "token":
			m.token = cmp.Or(m.token, value)
			return "TOKEN"
		case "uid":
			return m.text(value)
		}
		return m.text(value)
	case []any:
		for i := range value {
			value[i] = m.value(value[i], "")
		}
		if name == "resourceRules" || name == "nonResourceRules" || name == "exact" {
			slices.SortFunc(value, func(a, b any) int { return strings.Compare(marshal(a), marshal(b)) })
		}
		return value
	case map[string]any:
		if metadata, ok := value["metadata"].(map[string]any); ok {
			_, list := value["items"]
			_, rows := value["rows"]
			m.metadata(metadata, list || rows || value["kind"] == "Event" && isInitialEnd(metadata))
		}
		for _, key := range sortedKeys(value) {
			member := m.value(value[key], key)
			delete(value, key)
			value[m.text(key)] = member
		}
		return value
	}
	return value
}

// isInitialEnd reports whether an object is the bookmark at the end of a streamed list. Its version is masked, because
// Events are not cached: their bookmark has the version of the whole storage, to which the real server also writes.
func isInitialEnd(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations["k8s.io/initial-events-end"] == "true"
}

func sortedKeys(value map[string]any) (keys []string) {
	for key := range value {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (m *mask) metadata(metadata map[string]any, list bool) {
	text := func(name string) string { value, _ := metadata[name].(string); return value }
	version := text("resourceVersion")
	if list {
		if token := text("continue"); token != "" {
			m.next, metadata["continue"] = token, "TOKEN"
		}
		if version != "" {
			if m.start == "" {
				m.start = version
			}
			metadata["resourceVersion"] = "VERSION"
		}
		return
	}
	// Managed fields are sorted by time, and the two servers have different clocks.
	if managed, ok := metadata["managedFields"].([]any); ok {
		slices.SortFunc(managed, func(a, b any) int { return strings.Compare(marshal(a), marshal(b)) })
	}
	name := text("name")
	if version != "" {
		metadata["resourceVersion"] = named(m.versions, "version-", version)
	}
	if uid := text("uid"); name != "" && version != "" {
		m.latest[name] = map[string]string{"uid": uid, "version": version}
	}
}
