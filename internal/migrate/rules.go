package migrate

import "slices"

// Rules are all that is known, the more special ones first: of those that match a node the first one rewrites it. Each file of rules
// is about one area.
var Rules = slices.Concat(
	libraryRules, schemeRules, logrRules, loggingRules, zapRules, pointerRules, registeredCollectors, serverRules, managerRules, controllerRules, predicateRules, oldWatchRules, handlerRules, sourceRules, informerRules, eventRules, queueRules, clientRules, doubleRules, recorderRules, admissionRules, webhookRules, testRules, fakeRules, olderRules, kindRules,
	[]Rule{layoutImports, servedCollectors}, unsetLoggers, uncachedKinds, []Rule{valuedFields, embeddedFields, tableNames, tableMembers},
)
