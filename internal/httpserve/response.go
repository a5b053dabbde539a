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

// StatusOf returns the status for a code that the handlers of this module share. It is 500 for any
// other code.
func StatusOf(code string) int {
	switch code {
	case "method_not_allowed":
		return http.StatusMethodNotAllowed
	case "unauthorized":
		return http.StatusUnauthorized
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "unreadable_body", "invalid_json", "invalid_envelope":
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
