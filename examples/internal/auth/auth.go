// Package auth reads an agent's token for the programs beside it. A token is never on a command
// line, where others on the machine can see it.
package auth

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Value is the value of the auth header: the token in the environment variable env, or in the file,
// with "Bearer " before one without a scheme if the header is Authorization, which "" is too. It is
// "" if neither is named. Errors speak of the flags -token-env and -token-file, and never repeat
// what may be the token.
func Value(header, env, file string) (string, error) {
	var token string
	switch {
	case env != "" && file != "":
		return "", errors.New("there is one token: -token-env and -token-file exclude each other")
	case env != "":
		if token = strings.TrimSpace(os.Getenv(env)); token == "" {
			// The name is not repeated: it may be the token.
			return "", errors.New("-token-env: there is no environment variable of that name, or it is empty; give its name, not the token")
		}
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("-token-file: %w", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return "", errors.New("-token-file: the file is empty")
		}
	default:
		return "", nil
	}
	if (header == "" || strings.EqualFold(header, "Authorization")) && !strings.Contains(token, " ") {
		token = "Bearer " + token
	}
	return token, nil
}
