package doctor

import (
	"errors"
	"fmt"
	"sync"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/schema"
)

var responseSchema = sync.OnceValues(func() (*schema.Validator, error) { return schema.Compile(dispatch.ResponseSchema(), nil) })

// disagreement returns what the published schema rejects in a response although no problem was
// found in it. That is a fault of the doctor, not of the endpoint. It returns "" if both agree, or
// if the validator cannot judge the response.
func disagreement(body []byte, problems []dispatch.Problem) string {
	validator, err := responseSchema()
	if err != nil {
		return "the response schema cannot be compiled: " + err.Error()
	}
	e, ok := errors.AsType[*schema.Error](validator.Validate(body))
	if !ok || e.Code != schema.CodeMismatch || len(problems) > 0 {
		return ""
	}
	return fmt.Sprintf("dispatch.CheckResponse accepts a response that dispatch.ResponseSchema rejects: %v", e)
}
