/** A model behind the Messages API that makes one call, and answers after it has read the result. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { StubCall } from "./stub-call.ts";

interface MessagesRequest {
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export async function stubMessagesApi({ call_id, name: tool_name, args }: StubCall) {
  const requests: MessagesRequest[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method !== "POST" || (!request.url?.startsWith("/v1/messages?") && request.url !== "/v1/messages")) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const asked: MessagesRequest = JSON.parse(body);
    const is_agent = asked.tools?.some(({ name }) => name === tool_name) === true;
    if (is_agent) requests.push(asked);
    const has_result = asked.messages.some(({ content }) => JSON.stringify(content).includes('"tool_result"'));
    const block =
      is_agent && !has_result
        ? { type: "tool_use", id: call_id, name: tool_name, input: {} }
        : { type: "text", text: "" };
    const delta =
      block.type === "text"
        ? { type: "text_delta", text: "done" }
        : { type: "input_json_delta", partial_json: JSON.stringify(args) };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${requests.length}`, type: "message", role: "assistant", model: "stub", content: [] };
    const stop_reason = block.type === "text" ? "end_turn" : "tool_use";
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of [
      { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ])
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { base_url: `http://127.0.0.1:${port}`, requests, close };
}
