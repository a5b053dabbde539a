package toolbox

import "time"

// SetLimit replaces the limit of a page, in bytes.
func (c *Client) SetLimit(maxPage int64) { c.rest.Caller.MaxBytes = maxPage }

// SetLimits replaces the limits of responses, in bytes, and the time limit of requests for details.
func (b *Toolbox) SetLimits(maxAnswer, maxDetail int64, detailTimeout time.Duration) {
	b.caller.MaxBytes = maxAnswer
	b.details.caller.MaxBytes, b.details.caller.Timeout = maxDetail, detailTimeout
}
