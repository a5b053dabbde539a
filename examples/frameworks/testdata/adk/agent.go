// Package recipe is an agent on ADK.
//
// It was tested with google.golang.org/adk/v2 v2.2.0 and google.golang.org/genai v1.66.0. Its go.mod
// asks for Go 1.26.6.
//
//   - ADK runs the tools of one turn at the same time. A tool finds the run in its context, so one
//     agent serves all runs.
//   - If the model gives a call no id, ADK makes one that begins with adk-. The conversation with the
//     model does not contain it.
//   - Config.Instruction replaces text in braces. InstructionProvider does not.
//   - An answer without content is an event with an ErrorCode, and no error.
//   - ADK keeps sessions. The platform sends the session with each turn, so the agent makes one for
//     each run.
//   - If the arguments of a call are not JSON, Gemini gives no answer, and the final response says so.
//   - ADK tells the model that an invented tool does not exist. It sorts the properties of a schema.
package recipe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolutils"
	"google.golang.org/genai"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// NewAgent returns an agent on ADK's LLM agent, which has the loop.
func NewAgent(ctx context.Context, config genai.ClientConfig, modelName, system string, declared []schema.Tool) (dispatch.Agent, error) {
	config.HTTPClient = &http.Client{Transport: &llm.Transport{Base: config.HTTPClient.Transport}}
	model, err := gemini.NewModel(ctx, modelName, &config)
	if err != nil {
		return nil, err
	}
	var tools []tool.Tool
	for _, t := range declared {
		tools = append(tools, function{t})
	}
	loop, err := llmagent.New(llmagent.Config{
		Name: "shop", Model: model, Tools: tools,
		InstructionProvider: func(agent.ReadonlyContext) (string, error) { return system, nil },
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		conversation, err := llm.ToConversation(llm.Gemini, history)
		if err != nil {
			return nil, err
		}
		var contents []*genai.Content
		if err := json.Unmarshal(conversation, &contents); err != nil {
			return nil, err
		}
		sessions := session.InMemoryService() // of this run
		created, err := sessions.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "user"})
		if err != nil {
			return nil, err
		}
		for _, content := range contents[:len(contents)-1] {
			event := session.NewEvent(ctx, "before")
			event.Author, event.Content = "user", content
			if content.Role == genai.RoleModel {
				event.Author = "shop"
			}
			if err := sessions.AppendEvent(ctx, created.Session, event); err != nil {
				return nil, err
			}
		}
		r, err := runner.New(runner.Config{AppName: "shop", Agent: loop, SessionService: sessions})
		if err != nil {
			return nil, err
		}
		var final strings.Builder
		reason := ""
		for event, err := range r.Run(ctx, "user", created.Session.ID(), contents[len(contents)-1], agent.RunConfig{}) {
			if err != nil {
				return nil, err
			}
			if event.ErrorCode != "" { // the model refused, or its function call could not be read
				return &dispatch.Response{FinalResponse: llm.FinalResponse(event.ErrorMessage, event.ErrorCode)}, nil
			}
			reason = string(event.FinishReason)
			if !event.IsFinalResponse() || event.Content == nil {
				continue
			}
			for _, part := range event.Content.Parts {
				if !part.Thought {
					final.WriteString(part.Text)
				}
			}
		}
		return &dispatch.Response{FinalResponse: llm.FinalResponse(final.String(), reason)}, nil
	}, nil
}

// function is a declared tool. It serves all runs.
type function struct{ schema.Tool }

func (f function) Name() string        { return f.Tool.Name }
func (f function) Description() string { return f.Tool.Description }
func (f function) IsLongRunning() bool { return false }

func (f function) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: f.Tool.Name, Description: f.Tool.Description, ParametersJsonSchema: f.Tool.InputSchema}
}

func (f function) ProcessRequest(_ agent.Context, request *model.LLMRequest) error {
	return toolutils.PackTool(request, f)
}

func (f function) Run(ctx agent.Context, arguments any) (map[string]any, error) {
	run, ok := dispatch.FromContext(ctx)
	if !ok {
		return nil, errors.New("the context does not belong to a run")
	}
	id := ctx.FunctionCallID()
	if strings.HasPrefix(id, "adk-") {
		id = "" // ADK has made it, because the model gave none
	}
	result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, id), f.Tool.Name, arguments)
	if err != nil {
		return nil, err // the context has ended: ADK makes no further request
	}
	if result.Failed {
		return map[string]any{"error": result.JSON}, nil
	}
	return map[string]any{"output": result.JSON}, nil
}
