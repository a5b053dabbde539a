package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolcall"
)

// Detail returns a handler that serves {"detail": text} for the detail_url of a tool. A platform
// appends the text to the description of the tool.
//
// The handler calls describe for every GET, concurrently. The context of describe ends with the
// request, or after 10 seconds. describe should be fast, because agents wait for descriptions.
// Platforms do not document the maximum length of the text. Package toolbox accepts 64 KiB of JSON.
//
// The text is public: Bedrock tools documents no authentication for detail_url, and Detail does not
// check any header. The text becomes part of a prompt, so it must not contain text that
// others wrote.
//
// If describe fails, panics or does not return in time, the handler logs that and responds with
// 500, without the reason. The platform then continues without the detail. If logger is nil,
// nothing is logged.
func Detail(describe func(ctx context.Context) (string, error), logger *slog.Logger) http.Handler {
	if logger == nil {
		logger = discardLogger
	}
	loop := toolcall.NewLoop(detailTimeout, maxParallel, logger)
	nothing := toolcall.New("detail", anyObject, func([]byte) error { return nil }).Arguments([]byte("{}"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserve.LeaveBody(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			write(w, errorf(codeMethod, "use GET"), false)
			return
		}
		text, failure := toolcall.Run(r.Context(), loop, nothing, func(ctx context.Context) (string, *toolcall.Failure) {
			text, err := describe(ctx)
			return text, toolcall.FailureOf(err)
		})
		if failure != nil {
			cause := errorOf("", failure).Err
			logger.ErrorContext(r.Context(), "tool detail failed", "error", fmt.Sprint(cause)) // as errorAttr
			write(w, errorf(codeInternal, "there is no detail at the moment"), false)
			return
		}
		body, _ := rawjson.Encode(struct { // a string cannot fail
			Detail string `json:"detail"`
		}{text})
		w.Header()["Cache-Control"] = []string{"no-store"}
		httpserve.WriteJSON(w, http.StatusOK, body)
	})
}

// detailTimeout bounds the function of [Detail].
const detailTimeout = 10 * time.Second
