// Package llm connects agents that use the SDK of a model's provider to package dispatch. It reads
// and writes the conversations of OpenAI's Chat Completions and Responses, Anthropic's Messages and
// Gemini's contents, and works with any SDK whose values marshal to one of them. It imports no SDK.
//
// [Messages] makes the messages of a response from a conversation, and [Conversation] makes a
// conversation from the history of a session:
//
//	history, err := run.History()
//	conversation, err := llm.Conversation(llm.OpenAIChat, history)
//	err = json.Unmarshal(conversation, &params.Messages)
//	… // the agent's own loop
//	messages, err := llm.Messages(llm.OpenAIChat, params.Messages)
//
// # What becomes of a message
//
// A transcript shows text, reasoning, tool calls and their results. Of the rest, Messages keeps
// what a reader needs:
//
//	system and developer prompts          system messages, at the place where they stand
//	several text parts                    a list of text parts; one becomes a string
//	thinking, reasoning summaries         thinking blocks of text; signatures and encrypted reasoning are dropped
//	images, sounds, files                 a text such as "[image image/png, 5120 bytes]"; data and URLs are dropped
//	refusals                              the text of the message
//	arguments in a string                 an object if they are one, or else the string
//	tool results that are parts           a list of text parts
//	tool results with is_error            {"error": text}, unless they are such an object already
//	Gemini's {"output": …}, {"error": …}  the value of output; {"error": text}
//	calls of tools that the provider runs tool calls; their results end the assistant's message
//	cache markers, annotations, names     dropped
//
// All errors are of type [*Error]. The functions are safe for concurrent use.
package llm
