// Package llm records the conversation between an agent and its model for the response of a run. It
// reads the traffic of any SDK that speaks OpenAI's Chat Completions or Responses, Anthropic's
// Messages, also on Vertex AI and Amazon Bedrock, Gemini's generateContent, Bedrock's Converse or Ollama's
// chat. It imports no SDK.
//
// [Transport] is for the HTTP client of the SDK. With it, the response of each [run] contains the
// conversation with the model, the model's id and the tokens:
//
//	client := openai.NewClient(option.WithHTTPClient(&http.Client{Transport: &llm.Transport{}}))
//
//	func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
//		completion, err := client.Chat.Completions.New(ctx, params) // with the context of the run
//		if err != nil || len(completion.Choices) == 0 {
//			return nil, cmp.Or(err, errors.New("the model returned no choices"))
//		}
//		choice := completion.Choices[0]
//		… // its tool calls
//		text := llm.FinalResponse(choice.Message.Content+choice.Message.Refusal, choice.FinishReason)
//		return &dispatch.Response{FinalResponse: text}, nil
//	}
//
// Without a Transport, [FromConversation] makes messages of a conversation that the agent keeps.
// [ToConversation] makes a conversation of the history of a [session]:
//
//	history, err := run.History()
//	conversation, err := llm.ToConversation(llm.OpenAIChat, history)
//	err = json.Unmarshal(conversation, &params.Messages)
//
// This package is stable, as the README explains.
//
// # What becomes of a message
//
// A [transcript] shows text, reasoning, tool calls and their results. Of the rest, FromConversation and
// Transport keep what a reader needs:
//
//	system and developer prompts          system messages, at the place where they stand
//	several text parts                    a list of text parts; one becomes a string
//	thinking, reasoning summaries         thinking blocks of text, without signatures
//	encrypted reasoning                   dropped
//	images, sounds, files                 "[image image/png, 5120 bytes]", without data and URLs
//	refusals                              the text of the message
//	arguments in a string                 an object if they are one, or else the string
//	tool results that are parts           a list of text parts
//	tool results with is_error            {"error": text}, unless they are such an object already
//	Gemini's {"output": …}, {"error": …}  the value of output; {"error": text}
//	calls of tools that the provider runs tool calls; their results end the assistant's message
//	cache markers, annotations, names     dropped
//
// Everything here is safe for concurrent use.
//
// # Codes of errors
//
// Errors are [*toolwire.Error]s. Their texts name places in a conversation, but do not quote it.
//
//	unknown_format        the format is not one of this package
//	invalid_conversation  the conversation or a message is malformed; Problems may have its place
//	run_over              the run is over: the request was not sent
//
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [session]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#session
// [transcript]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#transcript
package llm
