package catalog_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest/catalog"
)

// FuzzUpload checks that the response to any form has a documented status.
func FuzzUpload(f *testing.F) {
	const file = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\n" + source
	f.Add([]byte(file + "\r\n--x\r\nContent-Disposition: form-data; name=tags\r\n\r\na,b\r\n--x--\r\n"))
	f.Add([]byte(file +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"name\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41\r\n--x--"))
	f.Add([]byte("--x\r\n\r\n\r\n--x\nContent-Disposition: form-data; name=\"file\"; filename=\"../../a.py\"; filename*=utf-8''b\n\n" +
		strings.Repeat("#", 2000) + "\n--x--"))
	f.Add([]byte("--x--"))
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: account,
			Plugin: catalog.PluginOptions{MaxBytes: 1024}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := httptest.NewRequest("POST", "/tools/upload", bytes.NewReader(body))
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch w.Code {
			case 200, 400, 409, 413, 422:
			default:
				t.Fatalf("the response is %d %s", w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "script_content") {
				t.Fatalf("the answer has source code: %s", w.Body)
			}
		}
	})
}
