package commandline

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/httpcall"
)

// Variables that name an agent where the flags do not.
const (
	URLVariable   = "TOOLWIRE_AGENT_URL"
	TokenVariable = "TOOLWIRE_AGENT_TOKEN"
)

// An Agent is the endpoint that a command line names, with its token, or in Command a program in code mode. No flag takes the token itself,
// because others on the machine can see command lines.
type Agent struct {
	dispatchtest.Target        // without a URL if nothing names an endpoint
	URLFrom             string // what names it, for messages: "-url" or URLVariable
	TokenFile           string

	tokenEnv string
	env      []string // names of variables
}

// AddFlags adds -url, -auth-header, -token-env and -token-file. use says what -url is for.
func (a *Agent) AddFlags(set *flag.FlagSet, use string) {
	set.StringVar(&a.URL, "url", "", use+" (default: the variable "+URLVariable+")")
	set.StringVar(&a.AuthHeader, "auth-header", "",
		"`name` of the header with the agent's token (default Authorization, where Bearer is put before a token without a scheme)")
	set.StringVar(&a.tokenEnv, "token-env", "",
		"`name` of the environment variable that contains the agent's token (default "+TokenVariable+", which may be unset)")
	set.StringVar(&a.TokenFile, "token-file", "", "`file` that contains the agent's token")
}

// AddProgram adds -env, for a command that takes a program after the flags too.
func (a *Agent) AddProgram(set *flag.FlagSet) {
	set.Func("env", "`name` of an environment variable that the program gets too; may be repeated", func(name string) error {
		a.env = append(a.env, name)
		return nil
	})
}

// Named reports whether the command line names an agent.
func (a *Agent) Named() bool { return a.URL != "" || len(a.Command) > 0 }

// HasToken reports whether a flag is about the token.
func (a *Agent) HasToken() bool { return a.AuthHeader != "" || a.tokenEnv != "" || a.TokenFile != "" }

// Read checks the flags and reads the variables and the file. Errors never repeat what may be the
// token.
func (a *Agent) Read() error {
	switch program := len(a.Command) > 0; {
	case program && a.URL != "":
		return fmt.Errorf("unexpected argument %q: an agent is either a -url or a program", a.Command[0])
	case program && a.HasToken():
		return errors.New("-auth-header, -token-env and -token-file are for a -url: an agent in code mode receives no requests")
	case program:
		return a.readEnv()
	case len(a.env) > 0:
		return errors.New("-env is for an agent in code mode, whose program follows the flags after --")
	}
	a.URLFrom = "-url"
	if a.URL == "" {
		a.URL, a.URLFrom = os.Getenv(URLVariable), URLVariable
	}
	if a.URL == "" {
		if a.HasToken() {
			return errors.New("-auth-header, -token-env and -token-file are for an agent with a -url")
		}
		return nil
	}
	u, ok := httpcall.ParseLink(a.URL)
	if !ok {
		return fmt.Errorf("%s is not an http or https URL with a host, such as http://127.0.0.1:8000/dispatch", a.URLFrom)
	}
	if u.User != nil {
		return fmt.Errorf("%s contains a user name or password, which the platform refuses: "+
			"use -auth-header and -token-env or -token-file", a.URLFrom)
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	if token == "" && a.AuthHeader != "" {
		return fmt.Errorf("-auth-header needs a token: -token-env, -token-file or the variable %s", TokenVariable)
	}
	if token != "" && (a.AuthHeader == "" || strings.EqualFold(a.AuthHeader, "Authorization")) && !strings.Contains(token, " ") {
		token = "Bearer " + token
	}
	a.AuthValue = token
	return nil
}

// readEnv reads the variables that -env names.
func (a *Agent) readEnv() error {
	for _, name := range a.env {
		value, ok := os.LookupEnv(name)
		if !ok { // the name is not repeated: it may be a value
			return errors.New("-env: there is no environment variable of that name; give its name, not its value")
		}
		a.Env = append(a.Env, name+"="+value)
	}
	return nil
}

func (a *Agent) token() (string, error) {
	switch {
	case a.tokenEnv != "" && a.TokenFile != "":
		return "", errors.New("there is one token: -token-env and -token-file exclude each other")
	case a.tokenEnv != "":
		token := strings.TrimSpace(os.Getenv(a.tokenEnv))
		if token == "" {
			// The name is not repeated: it may be the token.
			return "", errors.New("-token-env: there is no environment variable of that name, or it is empty; give its name, not the token")
		}
		return token, nil
	case a.TokenFile != "":
		text, err := os.ReadFile(a.TokenFile)
		if err != nil {
			return "", fmt.Errorf("-token-file: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return "", errors.New("-token-file: the file is empty")
		}
		return token, nil
	}
	return strings.TrimSpace(os.Getenv(TokenVariable)), nil
}
