/** What operations on sessions have in common: answers that set the cookie, or take it away, and who is asked to sign in again. */
import { limits } from "../limits.ts";
import { Session, wrapped } from "../resources/index.ts";

export const session = {
  200: { description: "The session; its cookie is set.", schema: wrapped("session", Session), headers: ["Set-Cookie"] },
} as const;

export const done = { 204: { description: "Done.", schema: null } } as const;

export const signedOut = {
  204: { description: "Done; the cookie is taken away.", schema: null, headers: ["Set-Cookie"] },
} as const;

/** For the description of what only a session may do that began a short time ago. */
export const fresh =
  `With a session that began more than ${limits.session_fresh_seconds / 60} minutes ago, give the password, or sign in again: ` +
  "else 403. Five wrong passwords end the session. A stolen cookie must not leave a way in behind.";
