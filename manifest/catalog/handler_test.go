package catalog_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest/catalog"
)

const account = "6f9619ff-8b86-4011-b42d-00c04fc964ff"

func TestSmoke(t *testing.T) {
	h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: account})
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, path, ct, body string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", ct)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		t.Log(method, path, w.Code, w.Header(), w.Body)
	}
	do("POST", "/tools/", "application/json", `{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`)
	do("POST", "/tools/", "application/json", `{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`)
	do("POST", "/tools/", "application/json", `{"framework":"langcain"}`)
	do("GET", "/tools/", "", "")
	do("GET", "/tools?type=custom", "", "")
	do("GET", "/tools/x", "", "")
	do("PATCH", "/tools/x", "", "")
	do("POST", "/tools/upload", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=file; filename=a.py\r\n\r\nclass A\r\n--x--\r\n")
	_ = http.MethodGet
}
