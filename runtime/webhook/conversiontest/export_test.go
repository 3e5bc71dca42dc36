package conversiontest

// Recode sets to, which is empty, to what from is on the wire.
var Recode = recode
