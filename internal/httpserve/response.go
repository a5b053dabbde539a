package httpserve

import "net/http"

var contentType = []string{"application/json"}

// WriteJSON writes a response with a JSON body.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = contentType
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the peer has closed the connection
}

// WriteError writes the response to a request that failed. A 401 has no body. A 405 allows POST,
// unless the header Allow is set.
func WriteError(w http.ResponseWriter, status int, body []byte) {
	switch status {
	case http.StatusUnauthorized:
		w.WriteHeader(status)
		return
	case http.StatusMethodNotAllowed:
		if w.Header().Get("Allow") == "" {
			w.Header().Set("Allow", http.MethodPost)
		}
	}
	WriteJSON(w, status, body)
}
