package capture

// SetLimit sets how many bytes c writes at most.
func (c *Capture) SetLimit(bytes int64) { c.limit = bytes }
