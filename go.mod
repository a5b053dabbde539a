module github.com/toolwire/toolwire

go 1.26.0

require (
	github.com/PaesslerAG/jsonpath v0.1.1
	github.com/cenkalti/backoff/v4 v4.3.0
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
)

require github.com/PaesslerAG/gval v1.0.0 // indirect
