package proxytest

// Limit sets the limit of requests and results, in bytes.
func (p *Platform) Limit(n int) { p.maxBytes = n }
