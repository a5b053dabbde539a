package proxytest

// Limit sets the limit of requests and results, in bytes.
func (p *Platform) Limit(n int) { p.maxBytes = n }

// Variant is what other packages get from package hook.
func (p *Platform) Variant(key string) *Platform { return p.variant(key) }
