import { expect, test } from "vitest";
import { escalationsMail, invitationMail } from "./mail-texts.ts";

test.each([
  ["as long as a mail has room for", "x".repeat(80), "x".repeat(80)],
  ["one longer", "x".repeat(81), `${"x".repeat(80)}…`],
  ["with a character across the end", `${"x".repeat(79)}𐐷y`, `${"x".repeat(79)}…`],
  ["that would go on in a line of its own", "Org\nBcc: someone", "Org Bcc someone"],
  ["with a link", "You won! Claim at https://evil.example/x", "You won Claim at https evil example x"],
  ["that mail programs make a link of", "evil.example", "evil example"],
  ["with a full-width dot", "evil．example and evil。example", "evil example and evil example"],
  ["with an address", "mailto:you@evil.example", "mailto you evil example"],
  ["with an encoded word", "=?UTF-8?B?4oCuZ25pc2FlbHA=?= Bank", "UTF-8 B 4oCuZ25pc2FlbHA Bank"],
  ["with HTML", '<a href="https://evil.example">click</a>', "a href https evil example click a"],
  ["with hidden characters", "A\u202eb\u200bc", "A b c"],
  ["with letters of any script", "Müller & Söhne (O’Neil), अनुमति 株式会社", "Müller & Söhne (O’Neil), अनुमति 株式会社"],
  ["of signs only", "://", "(no name)"],
])("a mail shows a name %s in one line and in whole characters", (_what, org_name, shown) => {
  const { subject, text } = invitationMail("https://c.example", {
    to: "a@b.example",
    org_name,
    role: "viewer",
    token: "t",
  });
  expect(subject).toBe(`Join ${shown} on Countersign`);
  expect(text).toContain(`You are invited to “${shown}” as viewer.`);
});

test.each([
  ["other.unclassified", "send_email", "send_email (other.unclassified)"],
  ["other.refund", "pay", "pay (other refund)"],
  ["crm.merge", "a.b https://evil.example", "a b https evil example (crm merge)"],
  ["payment.transfer", "pay", "payment.transfer"],
  ["other.unclassified", undefined, "other.unclassified"],
])("a mail about an action of the type %s by the tool %s names it as %s", (type, verb, shown) => {
  const expires_at = "2026-01-31T10:00:00.123456Z";
  const action = { escalation_id: "esc_1", agent_id: "a", type, expires_at, ...(verb !== undefined && { verb }) };
  const contents = { to: "a@b.example", org_id: "org_1", user_id: "usr_1", waiting: [action], more: 0 };
  expect(escalationsMail("https://c.example", contents, "t").text).toContain(
    `- a: ${shown}, until 2026-01-31 10:00 UTC\n`,
  );
});
