package catalog

import "net/http"

// SetLimits changes the limits of a JSON body, and of a form beside its file, so that tests can
// exceed them with a body that fits into the buffers of a connection.
func SetLimits(of http.Handler, body, room int64) {
	h := of.(*handler)
	h.maxBody, h.formRoom = body, room
}
