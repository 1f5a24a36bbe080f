import type { Role } from "@countersign/contract";
import { api } from "./seed.ts";

export const password = "correct horse battery staple";

export interface Person {
  readonly email: string;
  readonly user_id: string;
  /** Session cookie, `name=value`. */
  readonly session: string;
}

export function linkIn(text: string): string {
  const [url] = /http\S+\?token=\S+/.exec(text) ?? [];
  if (url === undefined) throw new Error("there is no link in the mail");
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** Invites a person with an admin key and joins. `mailed` returns the path from the mail. */
export async function joinOrganization(
  base_url: string,
  admin: string,
  invited: { readonly email: string; readonly role: Role },
  mailed: () => Promise<string>,
): Promise<Person> {
  await api(base_url, admin, "POST", "/v1/auth/invitations", invited);
  const token = new URL(await mailed(), base_url).searchParams.get("token");
  const response = await fetch(`${base_url}/v1/auth/invitations/accept`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, password }),
  });
  if (!response.ok) throw new Error(`${invited.email} could not join: ${await response.text()}`);
  const { session } = (await response.json()) as { session: { user: { user_id: string } } };
  const [cookie = ""] = response.headers.getSetCookie();
  return { email: invited.email, user_id: session.user.user_id, session: cookie.split(";")[0] ?? "" };
}
