/** Answers that set the session's cookie, or take it away. */
import { Session, wrapped } from "../resources/index.ts";

export const session = {
  200: { description: "The session; its cookie is set.", schema: wrapped("session", Session), headers: ["Set-Cookie"] },
} as const;

export const signedOut = {
  204: { description: "Done; the cookie is taken away.", schema: null, headers: ["Set-Cookie"] },
} as const;
