// Package certificate keeps the certificate of a server valid, and those who have to trust it informed.
package certificate
