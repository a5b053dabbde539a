package catalog

// SetMaxBody changes the limit of a JSON body, so that tests can exceed it with a small one.
func SetMaxBody(h *Handler, n int64) { h.maxBody = n }
