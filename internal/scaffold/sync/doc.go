// Package sync knows what a file is merged from: what kctrl once wrote, from version control or from .kctrl/base.
package sync
