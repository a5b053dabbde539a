package httpserve

import "net/http"

var contentType = []string{"application/json"}

// WriteJSON writes a response with a JSON body.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = contentType
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the peer has closed the connection
}

// WriteError writes the response to a request that failed. A 405 allows POST, unless the header Allow
// is set.
func WriteError(w http.ResponseWriter, status int, body []byte) {
	if status == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "" {
		w.Header().Set("Allow", http.MethodPost)
	}
	WriteJSON(w, status, body)
}
