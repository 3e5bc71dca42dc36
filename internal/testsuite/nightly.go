package main

import "strings"

// test is a test that only make test-all runs.
type test struct {
	pkg     string // directory of the package
	pattern string // pattern for go test -skip
	reason  string // why make test omits it
	guard   string // test that protects the same guarantee in make test
}

// nightly lists the tests that only make test-all runs.
var nightly = []test{
	{
		".", `^TestGoInstall$`,
		"it compiles kctrl again, from the module cache",
		". ^TestModuleHasNoReplaceLines$",
	},
	{
		"cmd/kctrl", `^TestScript$/^sim$`,
		"it compiles two operators with the API server",
		"testserver/simulator ^TestBugsAreFound$",
	},
	{
		"cmd/kctrl", `^TestScript$/^sim_controller_runtime$`,
		"it compiles an operator with the API server and controller-runtime's API",
		"testserver/simulator ^TestMainFunctionsAreSimulated$",
	},
	{
		"cmd/kctrl", `^TestScript$/^guide_testing$`,
		"it compiles an operator with the API server, and runs its tests",
		". ^TestGuideCommandsRun$",
	},
	{
		"cmd/kctrl", `^TestScript$/^chaos$`,
		"it compiles two operators and the API server, and its plans take real time",
		"testserver/simulator ^TestBugsOfProcessesAreFound$",
	},
	{
		"cmd/kctrl", `^TestScript$/^migrate_measure$`,
		"it compiles an operator on controller-runtime and on kctrl's runtime",
		"internal/migrate/measure ^TestProcessIsMeasuredUntilItRests$",
	},
	{
		"cmd/kctrl", `^TestScript$/^env_real$`,
		"it starts five real servers",
		"cmd/kctrl ^TestScript$/^env$",
	},
	{
		"cmd/kctrl", `^TestScript$/^env_killed_real$`,
		"it starts eight real control planes",
		"cmd/kctrl ^TestScript$/^env_killed$",
	},
	{
		"cmd/kctrl", `^TestKilledCommandsAreRolledBackByTheNext$/^migrate$`,
		"a migration under faults runs go mod tidy at each step; other commands write by the same transaction",
		"cmd/kctrl ^TestKilledCommandsAreRolledBackByTheNext$",
	},
	{
		"cmd/kctrl", `^TestSignalsEndCommandsWithoutATrace$/^migrate$`,
		"a migration under faults runs go mod tidy at each step; other commands write by the same transaction",
		"cmd/kctrl ^TestSignalsEndCommandsWithoutATrace$",
	},
	{
		"cmd/kctrl", `^TestASecondSignalEndsCommandsAtOnce$/^migrate$`,
		"a migration under faults runs go mod tidy at each step; other commands write by the same transaction",
		"cmd/kctrl ^TestASecondSignalEndsCommandsAtOnce$",
	},
	{
		"cmd/kctrl", `^TestSignalsAtAnyTimeLeaveOneOfTwoTrees$/^migrate$`,
		"a migration under faults runs go mod tidy at each step; other commands write by the same transaction",
		"cmd/kctrl ^TestSignalsAtAnyTimeLeaveOneOfTwoTrees$",
	},
	{
		"internal/controlplane", `/^real$`,
		"each starts etcd and kube-apiserver; the code that differs is the command line",
		"internal/controlplane ^TestServerAndClientVerifyEachOther$",
	},
	{
		"internal/kubectl", `/^real$`,
		"the requests are the same for both servers",
		"internal/kubectl ^TestServer$",
	},
	{
		"internal/scaffold", `^TestMatrix$/^(each_pair|other_combinations)$`,
		"it creates all 144 combinations, and builds and simulates some of them",
		"internal/scaffold ^TestMatrix$/^each_choice$",
	},
	{
		"internal/scaffold", `^TestMatrix$/^each_choice$/.*/^simulation$`,
		"it compiles each project with the API server, and runs hundreds of plans",
		"testserver/simulator ^TestBugsAreFound$",
	},
	{
		"internal/scaffold", `^TestMatrix$/^each_choice$/.*/^(real_server|build_and_test)$`,
		"the go command builds each project; its types are checked in make test",
		"internal/scaffold ^TestScaffoldedTestsPass$",
	},
	{
		"internal/scaffold", `^TestManifestsAreAccepted$/^real_server$`,
		"the server in memory validates with the same code",
		"internal/scaffold ^TestManifestsAreAccepted$/^in_memory$",
	},
	{
		"internal/scaffold", `^TestScaffoldedTestsPass$/.*/^real_server$`,
		"the tests of projects run on the server in memory",
		"internal/scaffold ^TestScaffoldedTestsPass$",
	},
	{
		"internal/scaffold", `^TestRandomFieldsMakeKinds$/.*/^(real_server|tests)$`,
		"the go command builds a project for each seed; its types are checked in make test",
		"internal/scaffold ^TestScaffoldedTestsPass$",
	},
	{
		"internal/scaffold",
		`^Test(OddNamesMakeKinds|FurtherVersionHasMoreFields|ControllerOfTypesThatAreThere|OperandRuns|ScaffoldedTestsAskByEachVerb)$/^tests$`,
		"the go command builds a project; its types are checked in make test",
		"internal/scaffold ^TestScaffoldedTestsPass$",
	},
	{
		"internal/scaffold", `^TestRulesOfPoliciesDecide$/^(real_server|tests)$`,
		"the server in memory evaluates CEL with the same code",
		"internal/scaffold ^TestRulesOfPoliciesDecide$/^in_memory$",
	},
	{
		"internal/scaffold", `^TestTestObjectsOfBuiltInKindsAreAccepted$/^real_server$`,
		"the server in memory validates built-in kinds too",
		"internal/scaffold ^TestTestObjectsOfBuiltInKindsAreAccepted$/^in_memory$",
	},
	{
		"internal/scaffold", `^TestOperandTestsFindEachDefect$`,
		"it builds and tests a project ten times",
		"internal/scaffold ^TestScaffoldedTestsFailWithoutLogic$",
	},
	{
		"internal/scaffold", `^TestProjectsMayChooseOlderKubernetes$/^last_patch`,
		"it compiles a project with the last patch of each version of Kubernetes",
		"internal/scaffold ^TestProjectsMayChooseOlderKubernetes$/^oldest$",
	},
	{
		"internal/scaffold", `^TestProjectsMayChooseOlderKubernetes$/^oldest$/^controller-runtime$`,
		"it compiles the module with controller-runtime's API with another Kubernetes",
		"internal/scaffold ^TestModuleTemplatesAreTidy$",
	},
	{
		"internal/scaffold", `^TestProjectsMayChooseOlderKubernetes$/^oldest$/^vet_and_test$`,
		"the go command builds, vets and tests a project with another Kubernetes",
		"internal/scaffold ^TestProjectsMayChooseOlderKubernetes$/^oldest$",
	},
	{
		"internal/scaffold", `^TestScaffoldedTestsPass$/^project-(apimodule|multigroup)$/^in_memory$`,
		"the go command compiles its tests; they are built and vetted in make test",
		"internal/scaffold ^TestScaffoldedTestsPass$/^project$",
	},
	{
		"internal/scaffold", `^TestScaffoldedTestsFailWithoutLogic$/^with_the_logic$`,
		"it runs a project's tests once more with their logic, as the test of golden projects does",
		"internal/scaffold ^TestScaffoldedTestsPass$",
	},
	{
		"internal/scaffold", `^TestAnythingMayBeRemoved$/^generate$`,
		"it generates once for each file that is removed",
		"internal/scaffold ^TestAnythingMayBeRemoved$/^create_api$",
	},
	{
		"internal/scaffold", `^TestPublishedModule$`,
		"it compiles kctrl from a module proxy",
		"internal/scaffold ^TestModuleCanBeInstalled$",
	},
	{
		"testserver/apiserver", `^TestAnswersAsTheRealServer$`,
		"it queries the real API server; make test compares with recorded answers",
		"testserver/apiserver ^TestAnswersAsTheRealServerDid$",
	},
	{
		"testserver/apiserver", `^TestOpenAPIOfDefinitionsMatchesTheRealServer$`,
		"it queries the real API server; make test compares with a recording",
		"testserver/apiserver ^TestOpenAPIOfDefinitionsMatchesTheRecording$",
	},
	{
		"testserver/apiserver", `^TestOpenAPINamesTheFieldsOfTheRealServer$`,
		"it queries the real API server; make test compares with a recording",
		"testserver/apiserver ^TestOpenAPINamesTheFieldsThatTheRealServerNamed$",
	},
	{
		"runtime/internal/wire",
		`^Test(ListIsTheSameCutAtEveryByte|StreamIsTheSameCutAtEveryByte|NestingIsBoundedInEveryPlace)$`,
		"they cut and nest at every place",
		"runtime/internal/wire ^TestListIsTheSameHoweverItArrives$",
	},
	{
		"runtime/informer", `^TestOnAServerWithManyObjects$`,
		"50,000 objects churn",
		"runtime/informer ^TestOnAServer$",
	},
	{
		"runtime/manager", `^TestOnAServerOfProcesses$/^(slow_storage|no_storm)`,
		"it slows, kills and restarts a server for minutes",
		"runtime/informer ^TestOnAServerThatFails$",
	},
	{
		"runtime/garbagecollector", `^TestCollectsWhatKubeControllerManagerCollects$`,
		"it compiles kube-controller-manager",
		"runtime/garbagecollector ^TestCollectsWhatKubeControllerManagerCollected$",
	},
	{
		"testserver/fakecontrollers", `^TestAsTheRealControllers$`,
		"it compiles kube-controller-manager",
		"testserver/fakecontrollers ^TestAsTheRealControllersDid$",
	},
	{
		"examples/deployment", `^TestRollsOutAsKubeControllerManagerDoes$`,
		"it compiles kube-controller-manager",
		"examples/deployment ^TestRollsOutAsKubeControllerManagerDid$",
	},
}

// onRealServer lists the tests that make test runs on the real API server, because that server behaves differently.
// make test runs all other tests on the in-memory server; make test-all runs all tests on both.
var onRealServer = []real{
	{"runtime/informer", `^(TestOnAServer|TestOnAServerThatFails)$`,
		"watch cache, bookmarks and streaming lists depend on etcd and the cacher"},
	{"runtime/client", `^TestOnAServer$`, "continue tokens, managed fields and discovery depend on all of kube-apiserver"},
	{"runtime/cache", `^TestOnAServer$`, "events arrive after writes return, and reads after writes must wait for them"},
	{"runtime/internal/wire", `^TestFormatsOfARealServer$`, "the real server has its own framing and encoding of streams"},
	{"runtime/webhook", `^TestOnAServer$`, "kube-apiserver calls webhooks over TLS, with its own timeouts and caches"},
}

type expense struct{ pkg, test, reason string }

// expensive lists the tests that may use more than limit CPU seconds in make test.
var expensive = []expense{
	{"cmd/kctrl", "TestScript/migrate_code", "it compiles an operator and its tests on both APIs, and checks them twice"},
	{"runtime/manager", "TestOnAServerOfProcesses", "the CPU time of etcd and kube-apiserver is added when they end, " +
		"after minutes of failures"},
	{"runtime/informer", "TestOnAServer", "the CPU time of a real server is added when it ends"},
	{"runtime/client", "TestOnAServer", "the CPU time of a real server is added when it ends"},
	{"runtime/cache", "TestOnAServer", "the CPU time of a real server is added when it ends"},
	{"runtime/webhook", "TestOnAServer", "the CPU time of a real server is added when it ends"},
}

// skipped returns the -skip pattern of a package in make test.
func skipped(pkg string) string {
	var patterns []string
	for _, t := range nightly {
		if t.pkg == pkg {
			patterns = append(patterns, t.pattern)
		}
	}
	return strings.Join(patterns, "|")
}

// chosen returns the -run pattern of a package in a step.
func chosen(st step, pkg string) string {
	var patterns []string
	for _, p := range st.patterns {
		if p.pkg == pkg {
			patterns = append(patterns, p.run)
		}
	}
	return strings.Join(patterns, "|")
}
