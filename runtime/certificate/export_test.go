package certificate

var Measure = measure
