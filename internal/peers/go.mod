// Benchmarks against other libraries, apart from the library's own module so that nobody who imports it downloads them.
module github.com/toolwire/toolwire/internal/peers

go 1.26.0

replace github.com/toolwire/toolwire => ../..

require (
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/toolwire/toolwire v0.0.0
)

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
)
