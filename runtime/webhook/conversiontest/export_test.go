package conversiontest

// Recode sets to, which must be empty, to the decoded JSON of from.
var Recode = recode
