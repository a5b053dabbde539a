package modelpath

import (
	"net/url"
	"strings"
)

// Model returns the model that the path of a request to Amazon Bedrock names, or "". It is the last part of
// an id. An ARN has the number of an account before that part.
func Model(path string) string {
	_, id, _ := strings.Cut(path, "/model/")
	for strings.Contains(id, "%") { // a client may escape the id twice
		plain, err := url.PathUnescape(id)
		if err != nil {
			return ""
		}
		id = plain
	}
	id = id[:max(strings.LastIndexByte(id, '/'), 0)] // without the operation
	id = id[strings.LastIndexByte(id, '/')+1:]
	if fields := strings.SplitN(id, ":", 6); fields[0] == "arn" {
		id = strings.Join(fields[min(5, len(fields)):], "")
	}
	return id
}
