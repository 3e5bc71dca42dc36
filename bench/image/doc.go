// Package image reads what kctrl build image writes by the library that most tools read images by.
package image
