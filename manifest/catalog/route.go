package catalog

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// endpoint serves one method of a route. Its error is a *failure, an *Error, or a failure of the
// store.
type endpoint func(*Handler, *call) (answer, error)

// route is a path and the documented texts of its responses.
type route struct {
	pattern  string // for logs
	methods  map[string]endpoint
	uuid     bool   // the id must be a UUID; otherwise any other id is not found
	notFound string // the message of 404
	conflict string // the message of 409
	redirect string // a relative reference to the same path with the right slashes
}

const (
	textNotFound = "Tool not found"
	textConflict = "Tool with name already exists"
)

// match returns the route of a request and the id in its path.
func match(method, path string) (route, string) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if segments[0] != "tools" || !strings.HasPrefix(path, "/") {
		return route{pattern: "unknown"}, ""
	}
	last := len(segments) - 1
	if last == 0 {
		return route{redirect: "tools/"}, ""
	}
	if last >= 2 && segments[last] == "" && segments[last-1] != "" {
		if r, _ := match(method, "/"+strings.Join(segments[:last], "/")); r.methods != nil {
			return route{redirect: "../" + url.PathEscape(segments[last-1])}, ""
		}
	}
	id := segments[1]
	switch {
	case last == 1 && id == "":
		return route{pattern: "/tools/", conflict: textConflict, methods: map[string]endpoint{
			http.MethodGet: (*Handler).list, http.MethodPost: (*Handler).create,
		}}, ""
	case last == 1 && id == "upload" && method == http.MethodPost: // for other methods it is an id that is not valid
		return route{pattern: "/tools/upload", conflict: "Tool with the same name already exists",
			methods: map[string]endpoint{http.MethodPost: (*Handler).upload}}, ""
	case last == 1:
		r := route{pattern: "/tools/{id}", uuid: true, notFound: textNotFound, conflict: textConflict,
			methods: map[string]endpoint{
				http.MethodGet: (*Handler).get, http.MethodPut: (*Handler).put, http.MethodDelete: (*Handler).remove,
			}}
		return r, id
	case last == 2 && id != "":
		return matchPart(segments[2]), id
	}
	return route{pattern: "unknown"}, ""
}

// matchPart returns the route of a part of a tool.
func matchPart(part string) route {
	switch part {
	case "restore":
		return route{pattern: "/tools/{id}/restore", uuid: true, notFound: "Tool not found or not deleted",
			conflict: textConflict,
			methods:  map[string]endpoint{http.MethodPost: (*Handler).restore}}
	case "script", "source":
		return route{pattern: "/tools/{id}/" + part, notFound: "Tool or script not found",
			methods: map[string]endpoint{http.MethodGet: (*Handler).source}}
	case "upload":
		return route{pattern: "/tools/{id}/upload", notFound: textNotFound, conflict: textConflict,
			methods: map[string]endpoint{http.MethodPut: (*Handler).uploadUpdate}}
	}
	return route{pattern: "unknown"}
}

// allow returns the value of the header Allow.
func (r route) allow() string {
	var methods []string
	for m := range r.methods {
		methods = append(methods, m)
		if m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// redirect responds with a reference relative to the request, so that it is right under any prefix.
func redirect(w http.ResponseWriter, r *http.Request, to string) {
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	httpserve.LeaveBody(w, r)
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusTemporaryRedirect)
}
