package simulate

import (
	"encoding/xml"
	"fmt"
	"io"
)

// These types are the elements of a JUnit report. The format has no standard; CI systems read these names.
type (
	testSuite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Failure *testFailure `xml:"failure,omitempty"`
	}
	testFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report in JUnit's XML format, with a test case for each failure, and one for all plans that
// passed. name is the name of the suite.
func (r *Report) WriteJUnit(w io.Writer, name string) error {
	suite := testSuite{Name: name, Failures: len(r.Failures), Time: fmt.Sprintf("%.3f", r.Seconds)}
	for i, f := range r.Failures {
		suite.Cases = append(suite.Cases, testCase{name, f.name(i), &testFailure{f.Title, "\n" + f.Story + "\n" + f.Plan}})
	}
	passed := max(0, r.Run-len(r.Failures))
	suite.Cases = append(suite.Cases, testCase{Class: name, Name: fmt.Sprintf("%d plans without a failure", passed)})
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// name returns the number of the failure and the faults of its plan.
func (f *Failure) name(i int) string {
	if len(f.Faults) == 0 {
		return fmt.Sprintf("%d: without faults", i+1)
	}
	text := fmt.Sprintf("%d: %s", i+1, f.Faults[0])
	for _, more := range f.Faults[1:] {
		text += "; " + more
	}
	return text
}
