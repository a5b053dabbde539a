// Package tools only names the tools of the gate and the nightly in its go.mod: go build -o FILE
// honnef.co/go/tools/cmd/staticcheck builds one in this folder.
package tools
