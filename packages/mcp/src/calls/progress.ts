import { type JsonObject, metaOf } from "../protocol/messages.ts";

/**
 * Sends a progress notification at once and every `every_ms`, until the returned function is called. Sends nothing if
 * the call had no progress token.
 */
export function reportProgress(
  params: JsonObject,
  every_ms: number,
  answer: (message: JsonObject) => void,
): () => void {
  const { progressToken } = metaOf(params);
  if (progressToken === undefined) return () => undefined;
  let sent = 0;
  const send = (): void => {
    sent += 1;
    // In thousandths, because progress must grow and the server may report its own from 1 on with the same token.
    const progress = { progressToken, progress: sent / 1000, message: "Waiting for a person to decide." };
    answer({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
  };
  send();
  const timer = setInterval(send, every_ms);
  return () => clearInterval(timer);
}
