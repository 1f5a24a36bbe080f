import { call } from "./http-node.ts";

interface Sent {
  readonly cookie?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly node?: number;
}

/** Returns a function that calls a node as a browser does. Its answers have the error's code, and the cookie that was set. */
export function cookieCalls(urlOf: (node: number) => string) {
  return async (method: string, path: string, { cookie, body, headers = {}, node = 0 }: Sent = {}) => {
    const answer = await call(urlOf(node), method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { ...headers, ...(cookie === undefined ? {} : { cookie }) },
    });
    const set = answer.headers.get("set-cookie");
    return { ...answer, code: answer.json?.error?.code, cookie: set?.split(";")[0] };
  };
}
