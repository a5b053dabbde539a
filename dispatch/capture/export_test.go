package capture

// SetBounds sets the bounds of a capture, in bytes and messages.
func (c *Capture) SetBounds(body int, held int64, queue int, written int64) {
	c.bounds = bounds{body, held, queue, written}
}
