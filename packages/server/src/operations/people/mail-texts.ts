/**
 * Words mails, as plain text and HTML from the same parts. Strangers choose names, so names are shortened and shown
 * without characters that could form a link or an encoded word.
 */
import { actionTypes, hiddenCharacter, unclassified_action_type } from "@countersign/contract";
import { type Contradiction, clipText } from "@countersign/core";
import type { Mail } from "../../ports.ts";
import type { AccountChange, MailContents, WaitingAction } from "./mail.ts";

export type Words = Pick<Mail, "subject" | "text" | "html">;

interface Parts {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly link?: { readonly label: string; readonly url: string };
  readonly items?: readonly { readonly text: string; readonly url: string }[];
  readonly footer: string;
  readonly stop?: { readonly label: string; readonly url: string };
}

export function signupMail(public_url: string, { org_name, token }: MailContents["signup"]): Words {
  return written({
    subject: "Confirm your e-mail address",
    paragraphs: [
      `Follow this link to create the organization “${shown(org_name)}” on Countersign. It works once, for 24 hours.`,
      "It asks for the password that was chosen at sign-up.",
    ],
    link: { label: "Confirm the address", url: linkTo(public_url, "verify-email", token) },
    footer: "If you did not sign up, ignore this mail: nothing happens without that password.",
  });
}

export function knownAddressMail(public_url: string): Words {
  return written({
    subject: "You have an account already",
    paragraphs: [
      "Somebody, probably you, tried to sign up on Countersign with this address, which has an account already.",
    ],
    link: { label: "Log in", url: `${public_url}/login` },
    footer: "If you forgot the password, ask for a link that sets a new one. If it was not you, ignore this mail.",
  });
}

export function passwordMail(public_url: string, token: string): Words {
  return written({
    subject: "Set a new password",
    paragraphs: [
      "Follow this link to set a new password on Countersign. It works once, for an hour, and ends every session.",
    ],
    link: { label: "Set a new password", url: linkTo(public_url, "reset-password", token) },
    footer: "If you did not ask for this, ignore this mail: the password stays as it is.",
  });
}

export function invitationMail(public_url: string, { org_name, role, token }: MailContents["invitation"]): Words {
  return written({
    subject: `Join ${shown(org_name)} on Countersign`,
    paragraphs: [
      `You are invited to “${shown(org_name)}” as ${role}. There people decide what software agents may do.`,
      "The link works once, for seven days.",
    ],
    link: { label: "Join", url: linkTo(public_url, "invitation", token) },
    footer: "If you do not know this organization, ignore this mail.",
  });
}

const changed: Readonly<Record<AccountChange, string>> = {
  password_changed: "A new password was set for your account on Countersign. All earlier sessions have ended.",
  mfa_enabled:
    "An authenticator was set up for your account on Countersign. Signing in asks for its codes from now on.",
  mfa_disabled: "The second factor of your account on Countersign was switched off.",
  recovery_codes_replaced: "New recovery codes were made for your account on Countersign. The earlier ones are void.",
  passkey_registered: "A passkey was added to your account on Countersign. It signs in without the password.",
  passkey_deleted: "A passkey of your account on Countersign was deleted. It does not sign in any more.",
};

export function accountMail(public_url: string, { change, passkeys = 0 }: MailContents["account"]): Words {
  return written({
    subject: "How you sign in was changed",
    paragraphs: [
      changed[change],
      ...(passkeys === 0
        ? []
        : [`Passkeys that still sign in to your account: ${passkeys}. Delete those that are not yours.`]),
      "If it was not you: set a new password, which ends every session, then look through your passkeys and your second " +
        "factor in the settings, and tell an admin of your organization.",
    ],
    link: { label: "Set a new password", url: `${public_url}/forgot-password` },
    footer: "If it was you, there is nothing to do.",
  });
}

export function domainMail(public_url: string, { domain, event }: MailContents["domain"]): Words {
  const name = shown(domain.replaceAll(".", " dot "));
  return event === "ended"
    ? written({
        subject: "Single sign-on ended for a domain",
        paragraphs: [
          `The TXT record that proved the domain ${name} does not name your organization any more.`,
          "Single sign-on for its addresses has ended. To start it again, add the record and save the domain again.",
        ],
        link: { label: "Open the settings", url: `${public_url}/settings` },
        footer: "You get this mail because you are an admin of your organization.",
      })
    : written({
        subject: "Another organization claims a domain of your people",
        paragraphs: [
          `Another organization has proven that the domain ${name} is its own, and wants to sign its people in.`,
          "Your organization has people or an open invitation in this domain. They stay with you. Remove them, or withdraw " +
            "the invitation, if they belong to the other organization.",
        ],
        link: { label: "Open the people", url: `${public_url}/people` },
        footer: "You get this mail because you are an admin of your organization. The audit trail names the other one.",
      });
}

const contradictions: Readonly<Record<Contradiction, string>> = {
  blocked: "was blocked",
  pending: "still waits for a person's decision",
  withdrawn: "was withdrawn from review",
  not_claimed: "was approved, but that it had not claimed. So it may have been carried out twice",
  expired: "people had approved, but whose approval had expired",
};

export function contradictionMail(
  public_url: string,
  { intent_id, agent_id, because }: MailContents["contradiction"],
): Words {
  return written({
    subject: "An agent carried out an action that was not let through",
    paragraphs: [
      `The agent ${shown(agent_id)} reported that it carried out an action that ${contradictions[because]}.`,
      "Find out whether it did. If so, it does not wait for decisions, and its other actions are not under control either.",
      "If there are more such reports within an hour, no further mail is sent. The overview counts them.",
    ],
    link: { label: "Open the decision", url: `${public_url}/decisions/${intent_id}` },
    footer: "You get this mail because you are an operator or an admin of your organization.",
  });
}

export function countersFullMail(
  public_url: string,
  { intent_id, agent_id, counters }: MailContents["counters_full"],
): Words {
  const names = counters.slice(0, rules_max).map((name) => shown(name.replaceAll(".", " ")));
  return written({
    subject: "Actions are held, because counters have no room",
    paragraphs: [
      `An action of the agent ${shown(agent_id)} is held with the reason counters.full. No room: ${names.join(", ")}.`,
      "Either the organization has as many keys of counters as it may, or too many actions count in one key. An agent that " +
        "invents keys can cause this. Until there is room, people must review each action that would begin a key.",
      "Find out which agent began the keys (countersign counters list). Freeze that agent, or choose a key that it cannot invent. Keys " +
        "are deleted after the last of their actions has left the window.",
    ],
    link: { label: "Open the decision", url: `${public_url}/decisions/${intent_id}` },
    footer:
      "You get this mail because you are an operator or an admin of your organization. It comes at most once a day.",
  });
}

export function membraneMail(public_url: string, { membrane, status, reason, moved }: MailContents["membrane"]): Words {
  const name = `“${shown(membrane)}”`;
  const asked = status === "live" ? "take a membrane live" : "return a membrane to shadow";
  const effect =
    status === "live"
      ? "From then on, blocked actions are refused and escalated ones wait for a person."
      : "From then on, agents continue whatever the verdict. Open reviews stay open.";
  return written({
    subject: moved ? "A membrane returned to shadow" : `A second person is needed to ${asked}`,
    paragraphs: [
      moved
        ? `The membrane ${name} returned to shadow: it still records decisions, and no longer enforces them.`
        : `An admin asked to ${asked}: ${name}. ${effect} A second, different admin must confirm within 24 hours.`,
      ...(reason === null ? [] : [`Reason: ${shown(reason)}`]),
    ],
    link: { label: "Open the membranes", url: `${public_url}/membranes` },
    footer: "You get this mail because you are an admin of your organization. The audit trail names the person.",
  });
}

export function nobodyCanDecideMail(public_url: string, { rules, more }: MailContents["nobody_can_decide"]): Words {
  const count = rules.length + more;
  return written({
    subject: count === 1 ? "Nobody can decide what a rule holds" : `Nobody can decide what ${count} rules hold`,
    paragraphs: [
      "Too few people can approve what these rules hold, because reviewers were removed, have other roles, or have no valid key.",
      "Actions that the rules hold wait until their time is over. Name other reviewers in the rules, or invite people. " +
        "Operators can hand open reviews to other people.",
      ...rules.map(
        ({ policy, membrane }) => `Rule: ${shown(policy.replaceAll(".", " "))} (membrane: ${shown(membrane)})`,
      ),
      ...(more === 0 ? [] : [`And ${more} more. The overview lists all of them.`]),
    ],
    link: { label: "Open the policies", url: `${public_url}/policies` },
    footer:
      "You get this mail because you are an admin of your organization. It comes once, until the rule has reviewers again.",
  });
}

export function rolloutStoppedMail(
  public_url: string,
  { membrane, share, holds_share, breaches }: MailContents["rollout_stopped"],
): Words {
  const percent = (part: number) => `${(100 * part).toLocaleString("en-US", { maximumFractionDigits: 1 })} %`;
  return written({
    subject: "A rollout was stopped",
    paragraphs: [
      `The guard stopped the rollout of the membrane “${shown(membrane)}”. It stays at ${percent(share)} of the registered agents.`,
      ...breaches,
      ...(holds_share === undefined
        ? []
        : [
            `As its plan allows, the guard returned holds to shadow: only ${percent(holds_share)} of the registered agents ` +
              "are held from now on. Blocks stay enforced for the same agents as before, and open reviews stay open.",
          ]),
      "Find out why, then return it to an earlier stage, or advance it with a reason.",
    ],
    link: { label: "Open the membranes", url: `${public_url}/membranes` },
    footer: "You get this mail because you are an admin of your organization.",
  });
}

export function webhookFailingMail(
  public_url: string,
  { host, failures, paused }: MailContents["webhook_failing"],
): Words {
  const name = shown(host.replaceAll(".", " dot "));
  return written({
    subject: paused ? "A webhook is paused" : "A webhook does not accept events",
    paragraphs: [
      `Failed deliveries to ${name} since its last success: ${failures}.`,
      paused
        ? "The service sends nothing to it until somebody resumes it. Until then each event is kept as a failed delivery."
        : "The service keeps sending. Each event that fails three times is kept as a failed delivery.",
      paused
        ? "Repair the receiver, then resume the webhook and send the failed deliveries again."
        : "Repair the receiver, then send the failed deliveries again. No further mail follows before a delivery succeeds.",
    ],
    link: { label: "Open the webhooks", url: `${public_url}/webhooks` },
    footer: "You get this mail because you are an admin of your organization.",
  });
}

export function keyExpiryMail(public_url: string, { keys, more }: MailContents["key_expiry"]): Words {
  const count = keys.length + more;
  const subject = count === 1 ? "An API key is about to expire" : `${count} API keys are about to expire`;
  return written({
    subject,
    paragraphs: [
      "The service refuses an expired key, so its programs stop working. Rotate the key before that (POST " +
        "/v1/api-keys/…/rotate, with the key itself), or create another one and replace it.",
    ],
    items: keys.map(({ key_id, name, role, expires_at }) => ({
      text: `${name === null ? "" : `${shown(name)}, `}${role}, ${key_id}: until ${expires_at.slice(0, 16).replace("T", " ")} UTC`,
      url: `${public_url}/keys`,
    })),
    ...(more === 0 ? {} : { link: { label: `${more} more`, url: `${public_url}/keys` } }),
    footer:
      "You get this mail because you are an admin of your organization: 14 days, 3 days and 1 day before the end.",
  });
}

const reminders = { half: "Half of the time is over", tenth: "A tenth of the time is left" } as const;

export function escalationsMail(
  public_url: string,
  { waiting, more, daily }: MailContents["escalations"],
  token: string,
): Words {
  const count = waiting.length + more;
  const waits = count === 1 ? "An action waits for your review" : `${count} actions wait for your review`;
  const reminded = waiting.every(({ reminder }) => reminder !== undefined);
  const subject = daily ? `Today: ${waits}` : reminded ? `Reminder: ${waits}` : waits;
  const lines = daily ? groupedLines(public_url, waiting) : waiting.map((each) => lineOf(public_url, each));
  return written({
    subject,
    paragraphs: [`${waits}. What the agent wants and why it was held is shown in the console.`],
    items: lines,
    ...(more === 0 ? {} : { link: { label: `${more} more`, url: `${public_url}/escalations` } }),
    footer: "You get this because you are a reviewer. The console's settings stop it, and so does this link.",
    stop: { label: "Unsubscribe", url: linkTo(public_url, "unsubscribe", token) },
  });
}

function lineOf(public_url: string, { escalation_id, expires_at, rules = [], reminder, ...deed }: WaitingAction) {
  return {
    text:
      `${deedOf(deed)}, until ${minuteOf(expires_at)}${reminder === undefined ? "" : `. ${reminders[reminder]}`}` +
      `${rules.length === 0 ? "" : `. You are asked for: ${rules.slice(0, rules_max).map(shown).join(", ")}`}`,
    url: `${public_url}/escalations/${escalation_id}`,
  };
}

/** One line for the same kind of action of one agent. A line with several actions leads to the queue. */
function groupedLines(public_url: string, waiting: readonly WaitingAction[]) {
  const groups = new Map<string, WaitingAction[]>();
  for (const each of waiting) {
    const deed = deedOf(each);
    groups.set(deed, [...(groups.get(deed) ?? []), each]);
  }
  return [...groups].map(([deed, actions]) => {
    const [first, ...others] = actions.sort((one, two) => (one.expires_at < two.expires_at ? -1 : 1));
    if (first === undefined || others.length === 0) return lineOf(public_url, first as WaitingAction);
    const text = `${deed}: ${actions.length} actions, the first until ${minuteOf(first.expires_at)}`;
    return { text, url: `${public_url}/review` };
  });
}

function deedOf({ agent_id, type, verb }: Pick<WaitingAction, "agent_id" | "type" | "verb">): string {
  return `${shown(agent_id)}: ${shownDeed(type, verb)}`;
}

function minuteOf(at: string): string {
  return `${at.slice(0, 16).replace("T", " ")} UTC`;
}

const push_seconds_max = 24 * 3_600;

/** Words a push notice. Like the mail, it contains no other text of the agent than names. */
export function pushNotice(
  waiting: readonly WaitingAction[],
  more: number,
): Omit<MailContents["push"], "org_id" | "device_id"> {
  const count = waiting.length + more;
  const [first] = waiting;
  const urgency = waiting.some(({ reminder }) => reminder === "tenth") ? "high" : "normal";
  const terms = { ttl_seconds: push_seconds_max, urgency } as const;
  if (count !== 1 || first === undefined)
    return { title: `${count} actions wait for your review`, body: "Open the queue.", path: "/review", ...terms };
  const body = `${deedOf(first)}, until ${minuteOf(first.expires_at)}`;
  return { title: "An action waits for your review", body, path: `/escalations/${first.escalation_id}`, ...terms };
}

function linkTo(public_url: string, page: string, token: string): string {
  return `${public_url}/${page}?token=${encodeURIComponent(token)}`;
}

const shown_chars_max = 80;
const rules_max = 5;

const hidden = new RegExp(hiddenCharacter, "gu");

/**
 * Characters to replace. The others cannot form a link (dot, colon, slash, @) or an encoded word (= and ?, RFC 2047).
 */
const notShown = /[^\p{L}\p{M}\p{Nd} '’&+,()_-]+/gu;

function shown(name: string): string {
  const clean = name.replaceAll(hidden, " ").replaceAll(notShown, " ").replaceAll(/ +/g, " ").trim() || "(no name)";
  return clean.length > shown_chars_max ? `${clipText(clean, shown_chars_max)}…` : clean;
}

function shownDeed(type: string, verb: string | undefined): string {
  if (Object.hasOwn(actionTypes, type)) return type;
  const shown_type = type === unclassified_action_type ? type : shown(type);
  return verb === undefined ? shown_type : `${shown(verb)} (${shown_type})`;
}

function written({ subject, paragraphs, link, items = [], footer, stop }: Parts): Words {
  const text = [
    ...paragraphs,
    ...items.map((item) => `- ${item.text}\n  ${item.url}`),
    ...(link === undefined ? [] : [`${link.label}: ${link.url}`]),
    `-- \n${footer}${stop === undefined ? "" : `\n${stop.label}: ${stop.url}`}`,
  ].join("\n\n");
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font:16px/1.5 system-ui,sans-serif;color:#1a1f2b;max-width:36em;margin:2em auto;padding:0 1em">
${paragraphs.map((each) => `<p>${escaped(each)}</p>`).join("\n")}
${items.length === 0 ? "" : `<ul>${items.map((item) => `<li><a href="${escaped(item.url)}">${escaped(item.text)}</a></li>`).join("\n")}</ul>`}
${link === undefined ? "" : `<p><a href="${escaped(link.url)}">${escaped(link.label)}</a></p><p style="color:#5b6475;word-break:break-all">${escaped(link.url)}</p>`}
<p style="color:#5b6475;border-top:1px solid #d9dde5;padding-top:1em">${escaped(footer)}${stop === undefined ? "" : ` <a href="${escaped(stop.url)}">${escaped(stop.label)}</a>`}</p>
</body></html>`;
  return { subject, text, html };
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}
