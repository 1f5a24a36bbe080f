/** Records the messages between a client of the official packages and its transport. */

interface Transport {
  onmessage?: ((message: never, extra?: never) => void) | undefined;
  send(message: never, options?: never): Promise<void>;
}

export interface Said {
  readonly by: "client" | "server";
  readonly message: unknown;
}

/** Returns the list that grows with each message. The transport stays what it is: the packages look at its class. */
export function record(transport: Transport): Said[] {
  const said: Said[] = [];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    said.push({ by: "client", message });
    return send(message, options);
  };
  let handler: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    get: () => handler,
    set(given: Transport["onmessage"]) {
      handler =
        given &&
        ((message, extra) => {
          said.push({ by: "server", message });
          given(message, extra);
        });
    },
  });
  return said;
}
