// Package mcpbridge offers the tools of a [run] over the Model Context Protocol (MCP), and gives
// agents and tests the tools of MCP servers. It uses the official Go SDK.
//
// [NewServer] offers the tools of a run to anything that speaks MCP:
//
//	func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
//		server, err := mcpbridge.NewServer(ctx, run.Proxy, tools)
//		if err != nil {
//			return nil, err
//		}
//		go server.Run(ctx, transport) // or mcp.NewStreamableHTTPHandler
//		…
//	}
//
// [Connect] returns a [Peer], an MCP server with the tools that can be declared, and the problems of the
// others. [Peer.CallForModel] calls a tool for a model. [Peer.Handler] makes the tools tools of a
// toolbox, and [Peer.Call] makes them behaviors of a proxytest.World. See the examples.
//
// This package is settling, as the README explains.
//
// # Limits
//
// The SDK bounds one message to 16 MiB and 1,000 levels. Connect and the functions of a Peer have their
// own bounds below that. They have no time limit of their own; give them a context that ends.
//
// # Errors
//
// What a tool says about its failure is for the model. Any other text of an MCP server may repeat a
// secret of the connection, which this package does not know. Errors therefore do not contain such
// text. A [run token] is never sent to an MCP client.
//
// # Codes of errors
//
//	invalid  the tools of [NewServer] are not valid
//
// All functions, servers and peers are safe for concurrent use.
//
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [run token]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run-token
package mcpbridge
