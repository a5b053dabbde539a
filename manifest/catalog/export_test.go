package catalog

// SetLimits changes the limits of a JSON body, and of a form beside its file, so that tests can
// exceed them with a body that fits into the buffers of a connection.
func SetLimits(h *Handler, body, room int64) { h.maxBody, h.formRoom = body, room }
